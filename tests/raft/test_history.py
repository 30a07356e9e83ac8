"""The checker of histories, against all orders tried one by one."""

from itertools import permutations

from hypothesis import given
from hypothesis import strategies as st

from reference.raft import Operation, linearization
from tests.examples import examples

INFINITE = float("inf")


def register(state, command):
    """Read a number, or set it."""
    return (state, state) if command == "read" else (command, None)


def is_linearizable(history) -> bool:
    return linearization(history, register, 0) is not None


def test_a_read_sees_what_was_set_before_it():
    assert is_linearizable([Operation("A", 1, 0, 1), Operation("B", "read", 2, 3, 1)])
    assert not is_linearizable([Operation("A", 1, 0, 1), Operation("B", "read", 2, 3, 0)])


def test_while_a_write_is_under_way_a_read_may_see_either_but_not_old_after_new():
    write = Operation("A", 1, 0, 10)
    for seen in (0, 1):
        assert is_linearizable([write, Operation("B", "read", 2, 3, seen)])
    assert is_linearizable([write, Operation("B", "read", 2, 3, 0), Operation("C", "read", 4, 5, 1)])
    assert not is_linearizable([write, Operation("B", "read", 2, 3, 1), Operation("C", "read", 4, 5, 0)])


def test_what_was_never_answered_may_have_happened_or_not_and_at_any_time():
    lost = Operation("A", 1, 0)
    for seen in (0, 1):
        assert is_linearizable([lost, Operation("B", "read", 5, 6, seen)])
    assert is_linearizable([lost, Operation("B", "read", 5, 6, 0), Operation("B", "read", 7, 8, 1)])
    assert not is_linearizable([lost, Operation("B", "read", 5, 6, 1), Operation("B", "read", 7, 8, 0)])
    assert not is_linearizable([Operation("B", "read", 5, 6, 1), Operation("A", 1, 7)])  # it had not begun


def test_the_order_explains_the_history():
    history = [Operation("A", 1, 0, 10), Operation("B", "read", 2, 3, 0), Operation("C", "read", 4, 5, 1)]
    order = linearization(history, register, 0)
    assert [operation.client for operation in order] == ["B", "A", "C"]


def by_all_orders(history) -> bool:
    answered = [operation for operation in history if operation.end < INFINITE]
    others = [operation for operation in history if operation.end == INFINITE]
    for some in range(1 << len(others)):
        chosen = answered + [each for i, each in enumerate(others) if some >> i & 1]
        for order in permutations(chosen):
            if any(later.end < earlier.start for i, earlier in enumerate(order) for later in order[i + 1 :]):
                continue
            state, fits = 0, True
            for operation in order:
                state, result = register(state, operation.command)
                fits = fits and (operation.end == INFINITE or result == operation.result)
            if fits:
                return True
    return False


@st.composite
def operations(draw):
    start = draw(st.integers(0, 8))
    end = draw(st.one_of(st.integers(start, 9), st.just(INFINITE)))
    command = draw(st.sampled_from(["read", 1, 2]))
    result = draw(st.integers(0, 2)) if command == "read" and end < INFINITE else None
    return Operation("A", command, start, end, result)


@examples(60)
@given(st.lists(operations(), max_size=5))
def test_it_agrees_with_all_orders(history):
    assert is_linearizable(history) == by_all_orders(history)
