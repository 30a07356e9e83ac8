"""The checkpoint store: epochs, and which commits are refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference.raft import CommitCheckpoint, JoinWorker, LeaveWorker, ReadStore, StoreState, apply

EMPTY, SHARDS = StoreState(), (("a", "1f"), ("b", "2e"))


def after(*commands, state=EMPTY):
    for command in commands:
        state, answer = apply(state, command)
    return state, answer


def test_each_change_of_workers_begins_an_epoch():
    state, answer = after(JoinWorker("b"), JoinWorker("a"))
    assert state == StoreState(2, ("a", "b")) and answer.accepted and answer.state == state
    assert after(JoinWorker("a"), state=state) == (state, (False, "a belongs already", state))
    assert after(LeaveWorker("c"), state=state) == (state, (False, "c does not belong", state))
    assert after(LeaveWorker("a"), state=state)[0] == StoreState(3, ("b",))
    assert after(ReadStore(), state=state) == (state, (True, "", state))


def test_a_checkpoint_is_committed_only_whole_newer_and_in_its_epoch():
    state, _ = after(JoinWorker("a"), JoinWorker("b"))
    good = CommitCheckpoint(10, 2, SHARDS)
    state, answer = after(good, state=state)
    assert answer.accepted and state.checkpoint == good
    for bad, why in (
        (CommitCheckpoint(20, 1, SHARDS), "epoch 1 is over"),
        (CommitCheckpoint(20, 2, SHARDS[:1]), "not those of the workers"),
        (CommitCheckpoint(20, 2, (*SHARDS, ("c", "0"))), "not those of the workers"),
        (CommitCheckpoint(20, 2, (SHARDS[0], SHARDS[0])), "not those of the workers"),
        (CommitCheckpoint(10, 2, SHARDS), "step 10 is committed already"),
    ):
        same, answer = after(bad, state=state)
        assert same == state and not answer.accepted and why in answer.reason


def test_a_coordinator_that_was_cut_off_cannot_commit():
    state, _ = after(JoinWorker("a"), JoinWorker("b"))
    late = CommitCheckpoint(10, state.epoch, SHARDS)  # written, and then the link fails
    state, _ = after(LeaveWorker("a"), CommitCheckpoint(10, 3, SHARDS[1:]), state=state)
    assert not after(late, state=state)[1].accepted


def test_what_is_no_command_is_an_error():
    with pytest.raises(TypeError, match="not a command of the checkpoint store"):
        apply(StoreState(), "commit")


@given(
    st.lists(
        st.one_of(
            st.builds(JoinWorker, st.sampled_from("ab")),
            st.builds(LeaveWorker, st.sampled_from("ab")),
            st.builds(CommitCheckpoint, st.integers(0, 5), st.integers(0, 4), st.sampled_from([(), SHARDS])),
        )
    )
)
def test_epochs_and_steps_only_grow(commands):
    state = StoreState()
    for command in commands:
        before, (state, answer) = state, apply(state, command)
        assert answer.state == state and (answer.accepted or state == before)
        assert state.epoch - before.epoch == (state.workers != before.workers)
        if before.checkpoint:
            assert state.checkpoint == before.checkpoint or state.checkpoint.step > before.checkpoint.step
