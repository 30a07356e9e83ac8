"""The records of the all-reduces: complete, true, and asked by whatever lists, chooses, measures or runs them."""

from dataclasses import fields, replace

import numpy as np
import pytest

from reference import ring_allreduce
from reference.collectives import ALLREDUCE, allreduce, fit
from reference.collectives.evaluate import evaluate
from reference.collectives.record import AllreduceRecord, Option, Setting
from reference.collectives.rounds import Round
from reference.collectives.select import candidates, choose
from reference.networks import Link, two_level, uniform
from reference.registry import Registry
from reference.worlds import launch

from .test_algorithms import variants

LINK = Link(2.0**-18, 2.0**-32, 2.0**-34)
each = pytest.mark.parametrize("name", ALLREDUCE)


@pytest.mark.parametrize("field", [field.name for field in fields(AllreduceRecord)])
def test_a_field_that_is_forgotten_is_an_error_at_once(field):
    known = {one.name: getattr(ALLREDUCE["ring"], one.name) for one in fields(AllreduceRecord) if one.name != field}
    with pytest.raises(TypeError, match=f"'{field}'"):
        AllreduceRecord(**known)


@each
def test_bytes_and_messages_of_every_rank(name):
    """By the formula and by the schedule; and no all-reduce sends fewer than 2 (P - 1) n bytes."""
    record = ALLREDUCE[name]
    for P in [*range(1, 18), 31, 32, 33]:
        for own in map(dict, variants("allreduce", name, P, few=P > 9)):
            for count in (0, 5, 16 * P, 1003):
                expected = record.volume(P, count, 8, **own)
                found = evaluate(record.rounds, P, count, 8, uniform(), record.blocks(P, **own), **own)
                assert found.bytes_sent.tolist() == expected.nbytes.tolist(), (P, count, own)
                assert found.messages.tolist() == expected.messages.tolist(), (P, count, own)
                assert expected.nbytes.sum() >= 2 * (P - 1) * 8 * count


@each
def test_some_options_can_be_carried_out(name):
    for P in (1, 2, 6, 7):
        own = ALLREDUCE[name].some_options(P)

        def program(comm, own=own):
            return allreduce(comm, np.arange(30) + comm.rank, algorithm=name, **own).tolist()

        total = (P * np.arange(30) + P * (P - 1) // 2).tolist()
        assert launch(program, P).results == [total] * P


@each
def test_candidates_have_the_options_of_the_record(name):
    record = ALLREDUCE[name]
    for link in (LINK, None):
        for count in (64, 65):
            setting = Setting(8, count, 4, link, (1, 2, 4, 5, 8), meet=link is not None)
            for own in record.candidates(setting):
                assert list(own) == [option.name for option in record.options]
                assert own.get("ranks_per_node", 2) in (2, 4)
                evaluate(record.rounds, 8, count, 4, uniform(), record.blocks(8, **own), **own)


def test_what_is_measured_on_a_machine_of_which_nothing_is_known():
    """Of those that are known here, which; one that is added is measured if its record says so."""
    flat = ["ring", "direct", "recursive doubling", "halving-doubling", "binomial tree"]
    known = [*flat, "binary tree", "double tree", "hierarchical", "leader", "torus", "x then y"]

    def measured(*arguments):
        return {name: own for name, own in fit.to_measure(*arguments).items() if name in known}

    assert list(measured(7)) == flat and not any(measured(7).values())
    assert measured(8, (4,)) == {name: {} for name in flat} | {"hierarchical": {"ranks_per_node": 4, "across": "ring"}}
    assert list(measured(8, (8,))) == list(measured(8, (3,))) == flat


# A new one --------------------------------------------------------------------------------------------------------


def telepathy_rounds(rank, ranks, strength):
    """Nobody sends anything."""
    yield from ring_rounds(rank, ranks) if strength else [Round(-2, (0, 0), -2, (0, 0))]


def ring_rounds(rank, ranks):
    return ALLREDUCE["ring"].rounds(rank, ranks)


STRENGTH = Option("strength", "strength", "of the thought", 3, lambda ranks, elements: range(1, 8), lambda *_: "tired")
FREE = ALLREDUCE["ring"].cost(1, 1, 1, LINK)
NEW = replace(
    ALLREDUCE["ring"],
    name="telepathy",
    rounds=telepathy_rounds,
    blocks=lambda ranks, strength: ranks,
    cost=lambda P, count, itemsize, link, strength: FREE,
    options=(STRENGTH,),
    candidates=lambda setting: [{"strength": 2}],
)


@pytest.fixture
def with_a_new_one(monkeypatch):
    """One more record in the list, and no other change."""
    more = Registry("all-reduce", [*ALLREDUCE.values(), NEW])
    monkeypatch.setattr(ALLREDUCE, "_records", more._records)


@pytest.mark.usefixtures("with_a_new_one")
def test_a_new_record_is_chosen_measured_and_carried_out():
    P, network = 4, uniform(1e-9, 1e-9)
    assert ("telepathy", {"strength": 2}) in list(candidates(P, 10**6, 4, network))
    assert choose(P, 10**6, 4, network)[:2] == ("telepathy", {"strength": 2})
    assert fit.to_measure(P)["telepathy"] == {"strength": 2}
    program = lambda comm: allreduce(comm, np.ones(8), algorithm="telepathy", strength=1).tolist()  # noqa: E731
    assert launch(program, P).results == [[4.0] * 8] * P


@pytest.mark.usefixtures("with_a_new_one")
def test_a_new_record_is_on_the_command_line():
    p = ring_allreduce.parser()
    assert "telepathy" in p.format_help()
    options = p.parse_args(["--algorithm", "telepathy", "--size", "4"])
    assert ring_allreduce.settings(options) == {"strength": 3}


def test_on_two_levels_the_groups_of_all_levels_are_tried():
    found = [own for name, own in candidates(8, 64, 4, two_level(4)) if name in ("hierarchical", "leader")]
    assert {own["ranks_per_node"] for own in found} == {4} and len(found) == 6
