"""What is no cut, no worker and no profile is refused, in numbers, by all that work with them."""

import pytest

from reference.pipeline.sizing.cuts import Cut, LayerProfile, Worker, crew, parts
from reference.pipeline.sizing.partition import additive, cut_costs, equal_counts, partition, stage_seconds

NAN = float("nan")
SIX = [LayerProfile(1.0, 2.0)] * 6


@pytest.mark.parametrize(
    "call, why",
    [
        (lambda: partition(SIX, 8), "8 stages need at least 8 layers, got 6: take 6 stages at most"),
        (lambda: partition(SIX, 0), r"workers \(stages\) must be a whole number of at least 1, got 0"),
        (lambda: partition(SIX, 2.0), "must be a whole number of at least 1, got 2.0"),
        (lambda: partition(SIX, []), "stages must be a whole number of at least 1, got 0"),
        (lambda: partition([], 1), "layers must be a whole number of at least 1, got 0"),
        (lambda: equal_counts(6, 0), "stages must be a whole number of at least 1, got 0"),
        (lambda: partition(SIX, [Worker(), Worker(0.0)]), r"worker 1: .* must have a finite speed above 0"),
        (lambda: partition(SIX, [Worker(memory=NAN)]), "a memory of at least 0 bytes"),
        (lambda: partition([*SIX, LayerProfile(NAN, 1.0)], 2), "layer 6: forward = nan must be finite and at least 0"),
        (lambda: additive([LayerProfile(1.0, -2.0)], 1), "layer 0: backward = -2.0 must be finite and at least 0"),
        (lambda: partition(SIX, 2, live=[1, NAN]), "live: nan micro-batches on stage 1"),
        (lambda: stage_seconds(SIX, (2, 4)), r"ends = \(2, 4\) must end with 6, the number of layers"),
        (lambda: cut_costs(SIX, (2, 2, 6)), r"ends = \(2, 2, 6\) must rise"),
        (lambda: stage_seconds(SIX, (2, 6), [Worker()] * 3), r"2 stages, ends = \(2, 6\), and 3 workers"),
    ],
)
def test_what_cannot_be(call, why):
    with pytest.raises(ValueError, match=why):
        call()


def test_parts_and_workers():
    assert parts((2, 3, 7), 7) == [(0, 2), (2, 3), (3, 7)] and Cut(1.0, (2, 3, 7)).sizes == [2, 1, 4]
    assert crew(2) == [Worker(), Worker()] and crew([Worker(2.0)]) == [Worker(2.0)]
