"""Fixed parts waste what fair shares give away; seconds by hand, and nobody is worse off."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference.caching.sharing import LinkUser, ends, fair_shares, fixed_parts

CLAIMS = st.lists(st.tuples(st.integers(1, 50), st.integers(1, 4), st.integers(1, 20)), min_size=1, max_size=5).map(
    lambda rows: [LinkUser(float(n), float(w), float(d)) for n, w, d in rows]
)


def test_e1_27_a_fixed_part_of_an_idle_job_is_lost():
    jobs = [LinkUser(10.0), LinkUser(10.0, weight=3.0)]
    assert fixed_parts(jobs, [True, True], 8.0) == fair_shares(jobs, [True, True], 8.0) == [2.0, 6.0]
    assert fixed_parts(jobs, [True, False], 8.0) == [2.0, 0.0] and fair_shares(jobs, [True, False], 8.0) == [8.0, 0.0]
    wants_little = [LinkUser(10.0), LinkUser(10.0, weight=3.0, demand=1.0)]
    assert fixed_parts(wants_little, [True, True], 8.0) == [2.0, 1.0]
    assert fair_shares(wants_little, [True, True], 8.0) == [7.0, 1.0]


def test_seconds_by_hand():
    jobs = [LinkUser(12.0), LinkUser(4.0, start=1.0)]
    assert ends(jobs, 4.0, fixed_parts) == [6.0, 3.0]
    assert ends(jobs, 4.0, fair_shares) == [4.0, 3.0]  # 4 bytes alone, 4 while two share, 4 alone


@given(CLAIMS, st.integers(1, 30))
def test_fair_shares_use_the_link_and_nobody_gets_less(jobs, bandwidth):
    active = [True] * len(jobs)
    fair, fixed = fair_shares(jobs, active, bandwidth), fixed_parts(jobs, active, bandwidth)
    assert sum(fair) == pytest.approx(min(bandwidth, sum(job.demand for job in jobs)))
    assert all(a >= b - 1e-9 for a, b in zip(fair, fixed))
    level = max(rate / job.weight for rate, job in zip(fair, jobs))
    wanting = [rate / job.weight for rate, job in zip(fair, jobs) if rate < job.demand - 1e-9]
    assert all(each == pytest.approx(level) for each in wanting)  # who wants more has the most for its weight


@given(CLAIMS, st.integers(1, 30))
def test_the_last_job_ends_no_later(jobs, bandwidth):
    fair, fixed = ends(jobs, bandwidth, fair_shares), ends(jobs, bandwidth, fixed_parts)
    assert max(fair) <= max(fixed) * (1 + 1e-9)
    assert max(fair) >= sum(job.nbytes for job in jobs) / bandwidth * (1 - 1e-9)


def test_who_is_never_served_is_an_error():
    with pytest.raises(ValueError, match="never ends"):
        ends([LinkUser(1.0, demand=0.0)], 1.0, fixed_parts)
