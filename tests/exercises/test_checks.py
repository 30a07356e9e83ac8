"""Checks on answers made by hand: what passes, what is found, and in which words."""

import numpy as np
import pytest

from exercises.grading import Answer, Case, checks, choices, copies, inputs, numbers, sums

LEFT = copies.copies(
    lambda case, rank: [copies.Piece((rank - 1) % case.ranks)],
    "the block of rank {rank}",
    slips=[(lambda seen: seen.found.rank == seen.rank, "its own")],
    otherwise="another's",
)
ROWS = copies.copies(
    lambda case, rank: [copies.Piece(other, rank) for other in range(case.ranks)],
    "row {number} of rank {rank}",
    slips=[(lambda seen: seen.there == [seen.found] * 2, "twice the same")],
    otherwise="another's",
    pieces=list,
)


def blocks(*values):
    """A case with a block for each value."""
    return Case("", tuple((np.full(3, float(value)),) for value in values))


def answer(case, results, **more):
    return Answer(results=[np.array(result) for result in results], arguments=list(case.arguments), aliased=[], **more)


@pytest.mark.parametrize(
    "results, seen, hint",
    [
        ([[2.0] * 3, [1.0] * 3], None, None),
        (
            [[2.0] * 3, [2.0] * 3],
            "rank 1 has the block of rank 1 where the block of rank 0 belongs.",
            "its own",
        ),
        ([[0.0] * 3, [1.0] * 3], "rank 0 has nothing but zeros where the block of rank 1 belongs.", copies.NOTHING),
        (
            [[2.0] * 3, [7.0] * 3],
            "rank 1 has numbers that no rank holds (7, ...) where the block of rank 0 belongs.",
            copies.NOTHING,
        ),
        (
            [[2.0] * 3, [1.0, 1.0, 7.0]],
            "rank 1 has 2 of 3 elements right where the block of rank 0 belongs.",
            copies.PARTLY,
        ),
        (
            [[2.0] * 3, [1 + 1e-7] * 3],
            "rank 1 has nearly the same numbers where the block of rank 0 belongs.",
            copies.DIGITS,
        ),
    ],
)
def test_copies_are_told_by_whose_they_are(results, seen, hint):
    case = blocks(1, 2)
    found = LEFT(case, answer(case, results))
    assert (found and found.seen, found and found.hint) == (seen, hint)


def test_a_copy_in_another_place_is_told_by_its_number():
    case = Case("", tuple((np.arange(4.0).reshape(2, 2) + 10 * rank,) for rank in range(2)))
    right = [np.array([[0.0, 1], [10, 11]]), np.array([[2.0, 3], [12, 13]])]
    assert ROWS(case, answer(case, right)) is None
    found = ROWS(case, answer(case, [right[0], right[0]]))
    assert found == ("rank 1 has row 0 of rank 0 where row 1 of rank 0 belongs.", "another's")
    found = ROWS(case, answer(case, [right[0], np.array([[12.0, 13]] * 2)]))
    assert found == ("rank 1 has row 1 of rank 1 where row 1 of rank 0 belongs.", "twice the same")
    found = ROWS(case, answer(case, [np.array([[9.0, 9], [10, 11]]), right[1]]))
    assert found.hint == copies.OWN


@pytest.mark.parametrize(
    "number, text",
    [(1, "1 card"), (0, "0 cards"), (1200, "1,200 cards"), (np.int64(1), "1 card"), (np.int64(2), "2 cards")],
)
def test_a_number_of_any_kind_is_counted(number, text):
    assert checks.count(number, "card") == text


@pytest.mark.parametrize(
    "value, text",
    [(300e9, "300e9"), (123e-12, "123e-12"), (2e-6, "2e-6"), (1e-9, "1e-9"), (0.1, "0.1"), (0.0, "0"), (6.125, "6.125")]
    + [(25_600_000_000, "25_600_000_000"), (8, "8"), ([(0, 1)], "[(0, 1)]")],
)
def test_inputs_are_shown_as_one_can_read_and_type_them(value, text):
    (case,) = inputs.calls((value,), names="n")(np.random.default_rng(0))
    assert case.label == f"n = {text}"
    assert eval(text) == value


@pytest.mark.parametrize("right, text", [(1, "1 of the 2 situations is right"), (0, "0 of the 2 situations are right")])
def test_one_situation_is_right_and_two_are(right, text):
    check = choices.Situations({"A": "gather", "B": "reduce"}, ("gather", "reduce"), {}, {"gather": "", "reduce": ""})
    names = {"A": "gather", "B": "gather"} if right else {"A": "reduce", "B": "gather"}
    assert check(Case("", ((),)), Answer([names], [()], [])).seen.startswith(text)


def test_arrays_in_a_list_are_kept_as_well():
    case = Case("", (([np.zeros(2), np.ones(3)],),))
    check = checks.kept("arrays")
    assert check(case, Answer([], [([np.zeros(2), np.ones(3)],)], [])) is None
    found = check(case, Answer([], [([np.zeros(2), np.array([1.0, 5.0, 5.0])],)], []))
    assert found.seen == "arrays[1] was changed: 2 of its 3 elements, the first at 1."
    assert "needs its arrays" in found.hint
    one, other = np.zeros(2), np.array([0.0, 7.0])
    found = check(Case("", (([one],), ([one],))), Answer([], [([one],), ([other],)], []))
    assert found.seen == "arrays[0] on rank 1 was changed: 1 of its 2 elements, the first at 1."


def test_messages_are_counted_where_they_arrive():
    case, sent = blocks(1, 2, 3), [[(1, 24), (2, 24)], [], [(1, 24)]]
    check = checks.received(lambda case, rank: int(rank > 0), "in a tree it receives", "once", lambda case, rank: 24)
    assert check(case, answer(case, [], sent=[[(1, 24)], [(2, 24)], []])) is None
    found = check(case, answer(case, [], sent=sent))
    assert found == ("rank 1 received 2 messages, in a tree it receives 1.", "once")
    in_halves = [[(1, 12), (1, 12), (2, 24)], [], []]
    assert check(case, answer(case, [], sent=in_halves)).hint == checks.IN_PIECES
    with_an_empty_one = [[(1, 24), (1, 0), (2, 24)], [], []]
    assert check(case, answer(case, [], sent=with_an_empty_one)).hint == "once"


def test_bytes_are_added_up_over_ranks():
    case = blocks(1, 2)
    check = checks.bytes_together(lambda case: 40, "a ring sends", [(lambda case: 80, "double")], "else")
    assert check(case, answer(case, [], sent=[[(1, 24)], [(0, 16)]])) is None
    assert check(case, answer(case, [], sent=[[(1, 40)], [(0, 40)]])) == (
        "all ranks together sent 80 bytes, a ring sends 40.",
        "double",
    )
    assert check(case, answer(case, [], sent=[[(1, 8)], []])).hint == "else"


@pytest.mark.parametrize("seconds, late", [(None, False), (2e-6, False), (2.1e-6, True)])
def test_time_counts_on_the_virtual_cluster_only(seconds, late):
    check = checks.no_later_than(lambda case: 2e-6, "the ring", lambda case, answer: f"{case.ranks} ranks")
    found = check(blocks(1, 2), answer(blocks(1, 2), [], seconds=seconds))
    assert (found is not None) == late
    if late:
        assert found == ("it took 2.100 us on the virtual cluster, the ring takes 2.000 us.", "2 ranks")


def test_a_bit_of_difference_is_found():
    case = blocks(1, 2)
    assert checks.same_bits(case, answer(case, [[0.1 + 0.2], [0.1 + 0.2]])) is None
    found = checks.same_bits(case, answer(case, [[0.3, 0.3], [0.3, 0.1 + 0.2]]))
    assert found.seen == "ranks 0 and 1 differ in element 1: 0.3 and 0.30000000000000004."


def test_a_sum_over_some_ranks_only():
    rng = np.random.default_rng(3)
    case = Case("", tuple((rng.standard_normal(9),) for _ in range(4)))
    x = [argument for (argument,) in case.arguments]
    pairs = sums.sum_over_ranks(
        sums.in_one_piece,
        whole=True,
        members=lambda case, rank: [rank // 2 * 2, rank // 2 * 2 + 1],
        advice={"own": lambda place, weights: f"{place.rank} of {place.case.ranks}: {weights.sum():g}"},
    )
    right = [x[0] + x[1]] * 2 + [x[2] + x[3]] * 2
    assert pairs(case, answer(case, right)) is None
    found = pairs(case, answer(case, [x[0] + x[2], *right[1:]]))
    assert found.seen == "rank 0 returned x[0] + x[2] (x[k] is what rank k holds)."
    assert "over ranks 0, 1 only" in found.hint
    assert "sum over all ranks" in pairs(case, answer(case, [sum(x), *right[1:]])).hint
    assert pairs(case, answer(case, [*right[:3], x[3]])).hint == "3 of 4: 1"


@pytest.mark.parametrize(
    "got, text, hint",
    [
        (2.5, None, None),
        (3, "it returned 3, 1.2 times what is right.", numbers.ROUNDED),
        (2.5000001, "it returned 2.5, off by 4e-08 of what is right.", numbers.DIGITS),
        (2.51, "it returned 2.51, 1.004 times what is right.", "else"),
        (4, "it returned 4, 1.6 times what is right.", "else"),
    ],
)
def test_a_number_that_was_rounded_is_told_so(got, text, hint):
    check = checks.Number(lambda x: x, [], "else")
    found = check(Case("", ((2.5,),)), Answer([got], [(2.5,)], [False]))
    assert (found and found.seen, found and found.hint) == (text, hint)


def test_a_message_in_pieces_is_told_from_one_too_many():
    case = blocks(1, 2)
    check = checks.messages(lambda case, rank: 1, "the ring", lambda case, sent, want: "else", lambda case, rank: 24)
    assert check(case, answer(case, [], sent=[[(1, 24)], [(0, 24)]])) is None
    assert check(case, answer(case, [], sent=[[(1, 16), (1, 8)], [(0, 24)]])).hint == checks.IN_PIECES
    assert check(case, answer(case, [], sent=[[(1, 24), (1, 8)], [(0, 24)]])).hint == "else"
