"""Priority: the next forward pass starts earlier, as the model of chapter 1 says; nothing else changes."""

from math import inf

import pytest
import torch

from reference import mpi
from reference.data_parallel import replicate
from reference.data_parallel.layers import Layer
from reference.data_parallel.priority import GradientSlice, Prioritised, order_of_pieces
from reference.data_parallel.replica import Replica
from reference.models import GPT, MLP, TINY, batch, digits, loss_sum, text, train
from reference.networks import priority
from reference.worlds import launch, networks
from reference.worlds.virtual.polling import POLL_SECONDS

from .timed import timed

ALPHA, BETA, RANKS, COUNT = 1e-6, 1e-9, 4, 80_000
FORWARD, BACKWARD = [1e-4] * 4, [2e-4] * 4
LAYERS = [Layer(f"layer {i}", 4 * COUNT, *times) for i, times in enumerate(zip(FORWARD, BACKWARD))]
EACH = 2 * (RANKS - 1) * ALPHA, 2 * (RANKS - 1) / RANKS * BETA  # of a ring all-reduce: seconds, seconds per byte


def iallreduce(comm, number, flat):
    return comm.Iallreduce(mpi.IN_PLACE, flat)


def sgd(parameters):
    return torch.optim.SGD(parameters, lr=0.1, momentum=0.9)


def test_the_order_is_the_figure():
    """One second each, two on the wire: layer 0 overtakes what is left of 2 and 1, in pieces of half a gradient."""
    layers = [Layer(str(i), 2, 1.0, 1.0) for i in range(4)]
    whole = order_of_pieces(layers, 0, 1, inf, priority.fifo)
    assert whole == [GradientSlice(3, 0, 2), GradientSlice(2, 0, 2), GradientSlice(1, 0, 2), GradientSlice(0, 0, 2)]
    pieces = order_of_pieces(layers, 0, 1, 1)
    assert "".join(str(piece.layer) for piece in pieces) == "32100123"
    assert pieces[0] == GradientSlice(3, 0, 1) and pieces[-1] == GradientSlice(3, 1, 2)


def steps(comm, number, pieces, credits):
    model = timed(comm, [COUNT] * 4, FORWARD, BACKWARD)
    replica = Prioritised(comm, model, sgd, pieces, credits, iallreduce)
    comm.Barrier()
    for _ in range(number):
        replica.backward(model(torch.ones(3)).sum(), 3)
    replica.finish()


def a_step(pieces, credits):
    """Seconds from one backward pass to the next, and those until the forward pass between them begins."""
    two, three = (
        launch(steps, RANKS, number, pieces, credits, network=networks.uniform(ALPHA, BETA, gap=inf))
        for number in (2, 3)
    )
    computed = three.timeline.of(rank=0, kind="compute")
    forward = [event for event in computed if event.end - event.start == pytest.approx(FORWARD[0])]
    backward = [event for event in computed if event.end - event.start == pytest.approx(BACKWARD[0])]
    return three.seconds - two.seconds, forward[8].start - backward[4].start


@pytest.mark.parametrize(
    "order, chunk, credits", [(priority.fifo, inf, 4), (priority.by_queue, inf, 2), (priority.by_queue, 2 * COUNT, 2)]
)
def test_a_step_takes_what_the_model_of_one_port_says(order, chunk, credits):
    sizes = [layer.nbytes for layer in LAYERS]
    spans = priority.serve(priority.gradient_messages(sizes, BACKWARD, FORWARD), *EACH, order, chunk)
    predicted = priority.next_forward(spans, BACKWARD, FORWARD)
    seconds, started = a_step(order_of_pieces(LAYERS, *EACH, chunk, order), credits)
    piece, polls = EACH[0] + min(chunk, sizes[0]) * EACH[1], 100 * POLL_SECONDS
    assert predicted.end - 1e-12 <= seconds <= predicted.end + polls
    assert (
        predicted.start - 1e-12 <= started <= predicted.start + piece + polls
    )  # of two under way one may be in its way


def test_the_next_forward_pass_starts_earlier():
    """First in, first out it waits for everything; by priority it waits for layer 0 and what was under way."""
    fifo, first = (
        a_step(order_of_pieces(LAYERS, *EACH, inf, priority.fifo), 4),
        a_step(order_of_pieces(LAYERS, *EACH, 2 * COUNT), 2),
    )
    assert first[1] < 0.75 * fifo[1] and first[0] < 0.9 * fifo[0]


def layers_of(model):
    return [
        Layer("", sum(p.nbytes for p in layer.parameters()), 1e-4, 2e-4) for layer in model if len(layer.state_dict())
    ]


def training(comm, number, prioritised=True):
    """Some steps of an MLP; with a Replica, or by priority."""
    model = MLP((64, 32, 16, 10), seed=comm.rank)
    replicate.broadcast_parameters(comm, model)
    pieces, optimizer = order_of_pieces(layers_of(model), *EACH, 800), sgd(model.parameters())
    replica = (
        Prioritised(comm, model, sgd, pieces, 3, iallreduce)
        if prioritised
        else Replica(comm, model, communicate=iallreduce)
    )
    for step in range(number):
        replica.backward(*loss_sum(model, batch(digits(), 4, step, rank=comm.rank, ranks=comm.size)))
        if not prioritised:
            optimizer.step()
    if prioritised:
        replica.finish()
    replicate.check_replicas(comm, model)
    return torch.cat([parameter.detach().flatten() for parameter in model.parameters()])


@pytest.mark.parametrize("ranks", [1, 2, 3, 5])
def test_training_is_that_of_the_serial_program(ranks):
    """Also with ranks that have no data."""
    serial = MLP((64, 32, 16, 10), seed=0)
    train(serial, digits(), sgd(serial.parameters()), 5, 4)
    expected = torch.cat([parameter.detach().flatten() for parameter in serial.parameters()])
    for found in launch(training, ranks, 5).results:
        torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-7)


@pytest.mark.mpi
def test_on_real_ranks():
    virtual, real = (launch(training, 2, 5, world=world).results for world in ("virtual", "mpi"))
    for found in real:
        torch.testing.assert_close(found, virtual[0], rtol=1e-5, atol=1e-7)


def test_the_bytes_are_those_of_a_replica():
    def sent(prioritised):
        none, one = (launch(training, 4, number, prioritised).bytes_sent for number in (0, 1))
        return sum(one) - sum(none)

    assert sent(True) == sent(False)


# What can go wrong


def test_weights_used_past_their_module_are_found_out():
    """The positions of this GPT are used without calling their module: no hook can take their step in time."""

    def program(comm):
        model = GPT(TINY, seed=0)
        owners = [m for m in model.modules() if any(p.requires_grad for p in m.parameters(recurse=False))][:-1]  # tied
        sizes = [sum(p.nbytes for p in owner.parameters(recurse=False)) for owner in owners]
        pieces = [GradientSlice(layer, 0, nbytes) for layer, nbytes in enumerate(sizes)]
        replica = Prioritised(comm, model, sgd, pieces, communicate=iallreduce)
        mine = batch(text(TINY.length), 2, 0)
        replica.backward(*loss_sum(model, mine))
        with pytest.raises(RuntimeError, match=r"not been taken for position\.weight: their module was not called"):
            replica.backward(*loss_sum(model, mine))

    launch(program, 2)


def test_an_impossible_count_is_told_on_every_rank_at_the_next_forward_pass():
    def program(comm):
        model = MLP((64, 10), seed=0)
        replica = Prioritised(comm, model, sgd, order_of_pieces(layers_of(model), *EACH, 800), communicate=iallreduce)
        replica.backward(*loss_sum(model, batch(digits(), 4, 0))[:1], [1, -1][comm.rank])
        with pytest.raises(ValueError, match=r"the ranks gave \[1, nan\] as their numbers"):
            model(torch.ones(1, 64))

    launch(program, 2)


@pytest.mark.parametrize(
    "pieces, credits, told",
    [
        ([GradientSlice(0, 0, 2600)], 0, "credits=0 must be 1 or more"),  # 64 x 10 + 10 floats in one layer
        ([GradientSlice(0, 0, 2600), GradientSlice(1, 0, 4)], 1, "of each of 1 layers"),
        ([], 1, "of each of 1 layers"),
        ([GradientSlice(0, 0, 2000)], 1, "of layer 0 must be its 2600 bytes, each once"),
        ([GradientSlice(0, 0, 2000), GradientSlice(0, 1000, 2600)], 1, "each once"),
        ([GradientSlice(0, 0, 1000), GradientSlice(0, 2000, 2600)], 1, "each once"),
        ([GradientSlice(0, 0, 1001), GradientSlice(0, 1001, 2600)], 1, "in whole elements of 4 bytes"),
    ],
)
def test_pieces_that_are_not_all_bytes_once(pieces, credits, told):
    def program(comm):
        with pytest.raises(ValueError, match=told):
            Prioritised(comm, MLP((64, 10), seed=0), sgd, pieces, credits)

    launch(program, 2)


def test_a_layer_of_two_types_is_refused():
    def program(comm):
        model = MLP((64, 10), seed=0)
        model[0].bias = torch.nn.Parameter(model[0].bias.double())
        with pytest.raises(ValueError, match="one layer must be of one type: Linear"):
            Prioritised(comm, model, sgd, [])

    launch(program, 1)
