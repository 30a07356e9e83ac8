"""The order of units, for which small numbers stand here: who follows, forward, backward, and computed again."""

from reference.zero.unit_order import UnitOrder


def passed(*units):
    """After a recorded forward pass through these."""
    order = UnitOrder()
    order.begin()
    for unit in units:
        order.come_to(unit)
    order.end(recorded=True)
    return order


def test_forward_the_last_pass_foretells_and_the_first_pass_knows_nothing():
    order = passed(0, 1, 2)
    assert order.last == [0, 1, 2]
    order.begin()
    assert order.ahead() == [0, 1, 2]
    order.come_to(0)
    assert order.ahead() == [1, 2]
    assert UnitOrder().ahead() == []


def test_backward_they_come_in_reverse_order_and_a_unit_may_have_several_passes():
    order = passed(0, 1, 0, 1)
    order.come_back_to(0)  # 1 is not trained here: nobody tells of it
    assert order.behind() == [1, 0]
    order.come_back_to(7)
    assert order.behind() == [1, 0]


def test_computed_again_those_follow_that_followed_and_have_not_had_their_turn():
    order = passed(0, 1, 2, 3, 0, 1, 2, 3)
    assert order.after(2) == [3] and order.after(3) == []
    order.come_back_to(2)
    assert order.after(0) == [1] and order.after(7) == []


def test_an_evaluation_leaves_no_pass_behind_but_tells_the_order():
    order = passed(0, 1)
    order.begin()
    order.come_to(1)
    order.end(recorded=False)
    assert order.behind() == [1, 0] and order.last == [1]
