"""Layouts whose ranks share a copy of a GPT: all have the serial program's weights in the end."""

import pytest
import torch

from reference import mpi
from reference import train as program
from reference.data_parallel.replica import Replica
from reference.layouts import data_parallel, tensor_parallel
from reference.models import GPT, Config, text, train
from reference.networks import uniform
from reference.worlds import RankFailed, launch


def trained(comm, *arguments):
    """The losses, and the weights that this rank has in the end; it began with others than rank 0."""
    options = program.parser().parse_args(
        ["--model", "gpt", "--layers", "1", "--steps", "3", "--batch", "4", *arguments]
    )
    kind = program.check_arguments(options)
    layout = program.made(kind, comm.size, options)
    model = layout.build(comm.rank)
    done = layout.train(comm, model, text())
    return done.losses, dict(model.named_parameters())


@pytest.mark.parametrize(
    "ranks, arguments",
    [
        (4, ["--tensor", "2", "--order", "ready", "--bucket", "4KiB"]),
        (2, ["--tensor", "2", "--sequence-parallel"]),
        (3, ["--tensor", "3", "--pad", "--overlap"]),
        (6, ["--tensor", "2", "--micro-batches", "2"]),  # two of the three groups have one sample
        (6, ["--context", "2", "--micro-batches", "2", "--order", "ready", "--bucket", "4KiB"]),
        (4, ["--context", "4", "--attention", "gather"]),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_all_ranks_have_the_serial_programs_weights(ranks, arguments):
    serial = GPT(Config(layers=1))
    first = [weight.detach().clone() for weight in serial.parameters()]
    losses = train(serial, text(), torch.optim.SGD(serial.parameters(), 0.1), 3, 4)
    for ours, found in launch(trained, ranks, *arguments).results:
        assert ours == pytest.approx(losses, rel=1e-5)
        for (name, weight), before in zip(serial.named_parameters(), first, strict=True):
            assert (found[name] - weight).abs().max() < 1e-5, name
            assert (before - weight).abs().max() > 1e-4, f"{name} has hardly moved"


@pytest.mark.mpi
@pytest.mark.parametrize("switch", ["--tensor", "--context"])
def test_real_ranks_are_verified(switch):
    def verified(comm):
        mpi.kept(comm)["fit"] = uniform(1e-5, 1e-9)  # known already: to measure takes seconds
        given = ["--model", "gpt", "--layers", "1", "--steps", "2", "--batch", "4", switch, "2"]
        return program.run(comm, program.parser().parse_args(given))

    run = launch(verified, 4, world="mpi")
    assert run.results == [0] * 4


def test_a_rank_whose_copy_of_a_shared_parameter_drifts_is_found_out(monkeypatch):
    """A planted mistake: one rank of each group adds up something else for what all of them hold whole."""
    part = tensor_parallel.TensorParallel.part

    def drifting(self, comm, model):
        made = part(self, comm, model)
        if comm.rank % 2:
            made.module.norm.weight.register_hook(lambda gradient: gradient + 1e-3)
        return made

    monkeypatch.setattr(tensor_parallel.TensorParallel, "part", drifting)
    with pytest.raises(RankFailed, match="holds other values than a rank that has the same elements"):
        launch(trained, 4, "--tensor", "2")


def test_the_groups_choose_one_all_reduce(monkeypatch):
    """Where each group measured the machine by itself, they could choose different ones, which round differently."""
    of_ranks, asked = [], []
    known, start = tensor_parallel.known, tensor_parallel.allreduce.start
    monkeypatch.setattr(tensor_parallel, "known", lambda comm: of_ranks.append(comm.size) or known(comm))
    monkeypatch.setattr(
        tensor_parallel.allreduce, "start", lambda *given, **how: asked.append(how["machine"]) or start(*given, **how)
    )
    launch(trained, 4, "--tensor", "2")
    assert of_ranks == [4] * 4 and asked and None not in asked


@pytest.mark.parametrize(
    "arguments, calls",
    [
        # embedding, block forward and backward, head backward, the loss's two; the count of samples
        (["--tensor", "2"], {"Allreduce": 1 + 4 + 1 + 2, "Iallreduce": 1, "Isend": 0}),
        (["--tensor", "2", "--overlap"], {"Allreduce": 1 + 2 + 1 + 2, "Iallreduce": 1 + 2, "Isend": 0}),
        (["--tensor", "2", "--sequence-parallel"], {"Allgather": 6, "Reduce_scatter_block": 6, "Isend": 0}),
        # forward 2 + 2, backward 2 + 2 and 2 for what is gathered again; embedding and head do not overlap
        (
            ["--tensor", "2", "--sequence-parallel", "--overlap"],
            {"Allgather": 2, "Reduce_scatter_block": 2, "Isend": 10},
        ),
        # keys and values there and again, the sums of their gradients; one bucket
        (["--context", "2"], {"Isend": 1 + 2 + 1}),
        (["--context", "2", "--attention", "ulysses"], {"Isend": 4 + 4 + 1}),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_the_form_that_was_asked_for_is_what_communicates(arguments, calls):
    one, three = (launch(trained, 2, *arguments, "--steps", steps).calls[0] for steps in ("1", "3"))
    assert {name: (three[name] - one[name]) / 2 for name in calls} == calls


def test_buckets_are_those_that_were_asked_for(monkeypatch):
    asked = []

    def recording(comm, module, bucket, order, **how):
        asked.append((bucket, order))
        return Replica(comm, module, bucket, order=order, **how)

    monkeypatch.setattr(data_parallel, "Replica", recording)
    launch(trained, 2, "--context", "2", "--bucket", "4KiB", "--order", "ready")
    assert asked == [(4096, "ready")] * 2


@pytest.mark.parametrize("tokens", ["zigzag", "contiguous", "striped"])
def test_a_rank_has_the_tokens_that_were_asked_for(tokens):
    options = program.parser().parse_args(["--model", "gpt", "--context", "4", "--tokens", tokens])
    layout = program.made(program.check_arguments(options), 4, options)
    assert layout.tokens.name == tokens and layout.tokens.ranks == 4
