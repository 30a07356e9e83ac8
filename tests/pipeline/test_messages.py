"""Messages: both sides know them alike, and there are as many as there are cuts to cross."""

from collections import Counter

import pytest

from reference.pipeline.messages import Message, messages
from reference.pipeline.schedule import Schedule, parse, repeat
from reference.pipeline.schedules.plain import gpipe, naive, one_f_one_b, pipedream

V_SHAPE = Schedule("V", (parse("0F0 3F0 3I0 0B0 3W0"), parse("1F0 2F0 2B0 1B0")))


def test_a_case_by_hand():
    """Rank 0 has the stages 0 and 3, rank 1 the others: what goes from 1 to 2 and back stays on rank 1."""
    sent = [[[(str(m), m.peer) for m in exchange.sends] for exchange in own] for own in messages(V_SHAPE)]
    assert sent == [
        [[("the activation of 0F0", 1)], [], [("the gradient of 2F0", 1)], [], []],
        [[], [("the activation of 2F0", 0)], [], [("the gradient of 0F0", 0)]],
    ]
    received = [[[(str(m), m.peer) for m in exchange.receives] for exchange in own] for own in messages(V_SHAPE)]
    assert received == [
        [[], [("the activation of 2F0", 1)], [], [("the gradient of 0F0", 1)], []],
        [[("the activation of 0F0", 0)], [], [("the gradient of 2F0", 0)], []],
    ]


@pytest.mark.parametrize(
    "schedule", [naive(3, 2), gpipe(4, 5), one_f_one_b(5, 3), pipedream(2, 6), V_SHAPE, repeat(gpipe(2, 2), 3)]
)
def test_every_send_is_a_receive_of_the_other_rank(schedule):
    exchanges = messages(schedule)
    sends = [(m._replace(peer=r), m.peer) for r, own in enumerate(exchanges) for e in own for m in e.sends]
    receives = [(m, r) for r, own in enumerate(exchanges) for e in own for m in e.receives]
    assert Counter(sends) == Counter(receives)
    tags = [message.tag for message, _ in sends]
    assert len(set(tags)) == len(tags)
    cuts = sum(
        schedule.home[s, i] != schedule.home[s + 1, i]
        for s in range(schedule.stages - 1)
        for i in range(schedule.micro_batches)
    )
    assert Counter(message.kind for message, _ in sends) == {"activation": cuts, "gradient": cuts}


def test_the_tag_of_a_message_is_known_without_asking():
    first, *_ = messages(one_f_one_b(2, 3))
    assert [e.sends for e in first[:3]] == [
        (Message("activation", 0, 0, peer=1, tag=0),),
        (Message("activation", 0, 1, peer=1, tag=2),),
        (),
    ]
    assert first[2].receives == (Message("gradient", 0, 0, peer=1, tag=1),)


def test_one_rank_says_nothing():
    assert all(not e.receives and not e.sends for e in messages(gpipe(1, 4))[0])
