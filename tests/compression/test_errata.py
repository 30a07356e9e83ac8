"""What is often claimed about compressed gradients, and the run that shows otherwise. Numbers as in book/errata*.md."""

import math

import pytest
import torch

from reference.compression import (
    ErrorFeedback,
    bf16,
    logarithmic,
    qsgd,
    residual_bound,
    roundtrip,
    scaled_sign,
    sparse_sign,
    stochastic_rounding,
    stochastic_sign,
    terngrad,
    threshold,
    top_k,
)
from reference.compression.quantize import stochastic_round
from reference.compression.sparse import largest, sparse_bytes
from reference.compression.study import descend
from reference.models import MLP, Objective, digits, generator

G = torch.tensor([0.3, -0.7, 1.1, -0.2, 0.05])


def mean(codec, x, draws):
    rng = generator(1)
    return torch.stack([roundtrip(codec, x, rng) for _ in range(draws)]).mean(0)


def test_e0_04_top_k_sends_more_than_k_of_d_for_it_must_say_which():
    d, k = 10**6, 10**4
    wire = top_k(k).encode(torch.randn(d, generator=generator(1)))
    assert len(wire) / (4 * d) == k * (32 + math.ceil(math.log2(d))) / (32 * d) == 0.01625, "not 0.01"
    assert k * (4 + 4) / (4 * d) == 0.02, "with int32 indices"
    ties = torch.ones(8)
    assert (ties.abs() >= ties.abs().topk(3).values.min()).sum() == 8, "everything >= tau_k: 8 of k = 3"
    assert roundtrip(top_k(3), ties).sum() == 3


def test_e0_05_the_one_bit_quantiser_with_probability_g_over_norm_1_is_not_unbiased():
    def claimed(g):  # E Q(g) of: +||g||_2 with probability |g_i| / ||g||_1, else -||g||_2
        P = g.abs() / g.abs().sum()
        return g.norm() * P - g.norm() * (1 - P)

    assert claimed(G).tolist() == pytest.approx([-1.01, -0.55, -0.09, -1.12, -1.30], abs=0.005)
    assert torch.equal(claimed(G), claimed(-G)), "it does not even know the sign"
    for codec in (stochastic_sign(), qsgd(1), terngrad()):  # these are
        chance = (codec.variance(G) / 1000).sqrt()
        assert ((mean(codec, G, 1000) - G).abs() < 5 * chance + 1e-6).all()


def test_e1_17_signs_of_the_largest_times_the_norm_are_sqrt_k_too_long():
    d, k = 10**6, 10**4
    g = torch.randn(d, generator=generator(1))
    Q = torch.zeros(d)
    kept = largest(g, k)
    Q[kept] = g[kept].sign() * g.norm()
    assert Q.norm() / g.norm() == pytest.approx(math.sqrt(k), rel=1e-5)
    assert (Q - g).square().sum() / g.square().sum() == pytest.approx(9943, rel=2e-4), "no contraction"
    right = sparse_sign(k)
    assert (roundtrip(right, g) - g).square().sum() < g.square().sum()
    ratio = 4 * d / right.nbytes(d)
    assert ratio == pytest.approx(32 * d / (k * (1 + math.ceil(math.log2(d)))), rel=1e-3) == pytest.approx(152, abs=0.5)
    assert 32 / (1 + math.log2(k)) == pytest.approx(2.24, abs=0.005), "a sign and k levels for all d elements"


def test_e1_17_and_error_feedback_cannot_repair_it():
    d, k, errors = 1000, 100, []
    e, rng = torch.zeros(d), generator(2)
    for _ in range(20):
        p = e + torch.randn(d, generator=rng)
        Q = torch.zeros(d)
        kept = largest(p, k)
        Q[kept] = p[kept].sign() * p.norm()
        e = p - Q
        errors.append(float(e.norm()))
    assert errors[-1] > 1e15 and errors[10] > 1e3 * errors[5]


def test_e3_09_one_percent_of_the_elements_is_98_percent_less_traffic():
    for d, most in ((10**6, 61), (10**9, 51)):  # of 10,000
        assert 1 - sparse_bytes(d // 100, d) / (4 * d) == pytest.approx(0.98, abs=0.004)
        saved = [1 - sparse_bytes(d * share // 10_000, d) / (4 * d) for share in (most, most + 1)]
        assert saved[0] >= 0.99 > saved[1]
    assert 0.005 * (32 + 32) / 32 == 0.01, "with int32 indices"


def test_e3_10_the_sum_of_what_is_late_is_bounded_but_not_everything_is_ever_sent():
    sender, sent = ErrorFeedback(top_k(1), 3), torch.zeros(3)
    small = 0.01
    for step in range(1000):
        g = torch.tensor([1.0, small, 0.5 * (-1) ** step])
        sent += sender.decode(sender.encode(g), 3)
        assert sender.error.norm() <= residual_bound(1 / 3, 1.2)
    assert sent[0] > 980 and sent[1] > 0, "what is small but constant is sent in the end"
    assert sent[2] == 0, "what cancels is never sent: 1,000 gradients of 0.5"


def test_e4_01_data_parallelism_is_exact_up_to_rounding_and_compression_is_not():
    f = Objective(MLP(seed=1), digits(), size=64)
    one, four = (descend(f, None, 10, 0.3, workers=P).w for P in (1, 4))
    assert (one - four).norm() / one.norm() < 1e-6
    for codec in (bf16(), top_k(0.1)):
        assert (descend(f, codec, 10, 0.3).w - one).norm() / one.norm() > 1e-4, codec.name


def test_e4_18_a_fixed_threshold_is_not_the_largest_k_percent():
    first = torch.randn(10_000, generator=generator(1))
    theta = float(first.abs().topk(101).values.min())  # above it, the largest 1 % of the first gradient
    shares = [len(roundtrip(threshold(theta), scale * first).nonzero()) / 10_000 for scale in (1, 0.5, 2)]
    assert shares[0] == 0.01 and shares[1] == 0 and shares[2] > 0.15, "as the gradient shrinks or grows"
    assert all(roundtrip(top_k(0.01), scale * first).count_nonzero() == 100 for scale in (1, 0.5, 2))


def test_e4_19_an_error_that_is_not_fed_back_only_grows():
    g, codec = torch.linspace(0.1, 1.0, 10), top_k(1)
    e, sent = torch.zeros(10), torch.zeros(10)
    right, right_sent = ErrorFeedback(codec, 10), torch.zeros(10)
    for _ in range(200):
        sent += roundtrip(codec, g)
        e = e + g - roundtrip(codec, g)  # C sees g alone: e is kept, and never used
        right_sent += right.decode(right.encode(g), 10)
    assert e.norm() == pytest.approx(337.6, abs=0.05) and (sent == 0).sum() == 9
    assert right.error.norm() < 11.5, "8.2 in double precision; it swings, and rounding decides between equals"
    assert (right_sent > 0).all() and right_sent.sum() / (200 * g.sum()) > 0.97
    assert right.error.norm() <= residual_bound(0.1, float(g.norm())) < 40


def test_e4_36_two_ways_to_count_the_errors_are_one_algorithm():
    codec, before, after, rng = scaled_sign(), torch.zeros(8), torch.zeros(8), generator(3)
    for _ in range(10):
        g = torch.randn(8, generator=rng)
        before = g + before - roundtrip(codec, g + before)  # e_t = g_t + e_{t-1} - Q(g_t + e_{t-1})
        late = g + after
        after = late - roundtrip(codec, late)  # e_{t+1} = g_t + e_t - C(g_t + e_t)
    assert torch.equal(before, after)


def test_e4_57_floor_and_ceiling_leave_whole_numbers_without_any_probability():
    x = 3.0
    assert math.ceil(x) - x == x - math.floor(x) == 0, "down with probability 0, and up with probability 0"
    assert stochastic_round(torch.full((100,), x), generator(1)).unique().tolist() == [x]


def test_e4_58_sent_with_probability_P_a_value_must_be_divided_by_it():
    g = torch.tensor([0.1, 0.5, 2.0])
    P = g.clamp(max=1)  # min(1, |g_i| / (s scale)) with s scale = 1
    assert (P * g).tolist() == pytest.approx([0.01, 0.25, 2.0]), "E of what is sent, if that is g_i"
    assert (P * (g / P)).tolist() == pytest.approx(g.tolist())


def test_e4_61_a_wide_range_makes_a_logarithm_right_for_the_elements_but_hardly_for_the_step():
    x = 10 ** torch.linspace(-4, 0, 1000)  # over four powers of ten; 4 bits each
    log, linear = (codec.variance(x) for codec in (logarithmic(4), stochastic_rounding(4)))
    assert (log / x**2).mean() < (linear / x**2).mean() / 4, "relative errors of the elements"
    assert 0.3 < log.sum() / linear.sum() < 3, "error of the vector: the small ones do not count"
