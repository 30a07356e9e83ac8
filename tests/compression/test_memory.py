"""What compressed sums keep: taken out, put back, and made one for other ranks."""

import pytest
import torch

from reference.compression import memory
from reference.compression.error_feedback import ErrorFeedback
from reference.compression.powersgd import PowerSGD
from reference.compression.reduce import TwoWay, allgather_sum, two_way_sum
from reference.compression.signs import scaled_sign
from reference.compression.sparse import top_k
from reference.worlds import launch

D = 11


def sender(kind, rank, ranks):
    """A state as a hook keeps it for a bucket."""
    if kind == "power":
        return 0, PowerSGD([(6, 5), (3,)], 1, torch.Generator().manual_seed(0))
    state = ErrorFeedback(top_k(3), D) if kind == "gathered" else TwoWay(scaled_sign(), D, rank, ranks)
    return state, torch.Generator().manual_seed(rank)


def stepped(comm, kind, steps, saved=None):
    """The state after some more steps, and what the last of them gave."""
    state, x = sender(kind, comm.rank, comm.size), None
    if saved is not None:
        memory.put_back(state, saved[comm.rank])
    for step in range(steps):
        x = torch.randn(D, generator=torch.Generator().manual_seed(10 * step + comm.rank))
        (allgather_sum if kind == "gathered" else two_way_sum)(
            comm, *((state[0], x) if kind == "gathered" else (x, state[0]))
        )
    return memory.taken(state), x


@pytest.mark.parametrize("kind", ["gathered", "two ways"])
def test_the_same_ranks_go_on_where_they_were(kind):
    saved = [taken for taken, _ in launch(stepped, 3, kind, 2).results]
    on, fresh = (launch(stepped, 3, kind, 1, how).results for how in (saved, None))
    again = launch(lambda comm: stepped(comm, kind, 0, saved), 3).results
    assert all(torch.equal(found[key], one[key]) for one, (found, _) in zip(saved, again) for key in one)
    assert any(not torch.equal(a[1], b[1]) for a, b in zip(on, fresh)), "what was kept makes a difference"


@pytest.mark.parametrize("kind, keys", [("gathered", {"error"}), ("two ways", {"up"})])
def test_other_ranks_share_the_sum_of_all_errors(kind, keys):
    saved = [taken for taken, _ in launch(stepped, 3, kind, 2).results]
    first, second = memory.merged(saved, 0), memory.merged(saved, 1)
    assert set(first) == keys and not second
    total = sum(one.get("error", one.get("up")) for one in saved)
    if kind == "two ways":
        total = total + torch.cat([one["down"] for one in saved])
    assert torch.equal(first[min(keys)], total)
    state = sender(kind, 0, 2)
    memory.put_back(state, first)
    assert torch.equal(memory.taken(state)[min(keys)], total)


def test_matrices_of_low_rank_keep_q_on_all_ranks_and_the_error_on_one():
    states = [sender("power", rank, 2)[1] for rank in range(2)]
    for rank, state in enumerate(states):
        state.Q, state.error = [torch.full((5, 1), 7.0)], [torch.full((6, 5), 1.0 + rank)]
    saved = [memory.taken((0, state)) for state in states]
    assert set(saved[0]) == {"Q0", "error0"}
    first, second = (sender("power", 0, 3) for _ in range(2))
    memory.put_back(first, memory.merged(saved, 0))
    memory.put_back(second, memory.merged(saved, 1))
    assert torch.equal(first[1].error[0], torch.full((6, 5), 3.0)) and second[1].error == []
    assert torch.equal(first[1].Q[0], second[1].Q[0]) and first[1].Q[0][0] == 7
