"""Exponents, crossovers and the verdict, from numbers worked out by hand."""

from dataclasses import replace

import pytest

from core.bench.results.curves import crossings, growth
from core.bench.results.summary import (  # fmt: skip
    crossovers,
    is_untested,
    memory_growth,
    share_of_limit,
    time_growth,
    unsure,
    verdict,
)
from core.bench.sweep.messages import Accuracy, Machine, Memory, Timing
from core.bench.sweep.plan import Plan
from core.bench.sweep.saved import Results
from core.bench.timing import Spread


def timing(mechanism, length, seconds, again=1.0, samples=5):
    noise = (seconds * again,) * samples if mechanism == "flash" else ()
    return Timing(mechanism, length, "forward", 9.0, (seconds,) * samples, noise, 2e9, 1e9)


def results(*messages, device="cpu"):
    plan = Plan(
        mechanisms=("flash", "standard", "linear"), lengths=(1024, 2048, 4096), device=device
    )
    return Results(plan, messages, False)


def exactly(*numbers: float):
    return [Spread(float(number), float(number), float(number)) for number in numbers]


def test_an_exact_power_is_found_without_doubt():
    fit = growth([1, 2, 4, 8], [3, 12, 48, 192])
    assert fit.exponent == pytest.approx(2)
    assert fit.factor == pytest.approx(3)
    assert fit.error == pytest.approx(0, abs=1e-12)
    assert fit.at(16) == pytest.approx(768)


def test_the_error_of_the_exponent_by_hand():
    # Logarithms to base e: x = 0, 1, 2 and y = 0, 1, 3. Slope 3/2; what is left over is
    # 1/6, -1/3, 1/6, squares 1/6; error = sqrt(1/6 / 1 / 2).
    e = 2.718281828459045
    fit = growth([1, e, e**2], [1, e, e**3])
    assert fit.exponent == pytest.approx(1.5)
    assert fit.error == pytest.approx((1 / 12) ** 0.5)


def test_two_lengths_give_no_error_and_one_gives_nothing():
    assert growth([10, 100], [1, 10]).error is None
    assert growth([10, 100], [1, 10]).exponent == pytest.approx(1)
    assert growth([10], [1]) is None
    assert growth([], []) is None


def test_a_crossing_lies_between_the_logarithms():
    # From 4 to 1/4 in one step from 100 to 10,000: the middle of the logarithms.
    (crossing,) = crossings([100, 10_000], exactly(4, 0.25))
    assert crossing == pytest.approx((1000, 1000, 1000))


def test_the_quartiles_give_the_uncertainty_of_a_crossing():
    ratios = [Spread(4.0, 2.0, 8.0), Spread(0.25, 0.125, 0.5)]
    (crossing,) = crossings([100, 10_000], ratios)
    # From 2 to 1/8: a quarter of the way. From 8 to 1/2: three quarters.
    assert crossing == pytest.approx((1000, 10**2.5, 10**3.5))
    (crossing,) = crossings([100, 10_000], [Spread(4.0, 2.0, 8.0), Spread(0.25, 0.125, 1.5)])
    assert crossing.low == pytest.approx(10**2.5)
    assert crossing.high is None


def test_no_crossing_and_several():
    assert crossings([100, 1000], exactly(4, 2)) == []
    assert len(crossings([100, 1000, 10_000], exactly(4, 0.25, 4))) == 2
    assert crossings([100, 1000, 10_000], exactly(4, 1, 0.25))[0].length == pytest.approx(1000)


def test_the_verdict_in_words():
    far = Accuracy("linear", 4096, 64, 0.5, 0.41, 0.6, 7.0, 6.0)
    found = verdict(results(far, timing("flash", 4096, 0.3), timing("linear", 4096, 0.02)))
    assert found.sentence() == (
        "At 4,096 tokens on this CPU, linear is 15 x (15 x to 15 x) faster than flash, "
        "but its map differs by 0.41 (total variation)."
    )
    found = verdict(results(timing("flash", 1024, 0.3), timing("standard", 1024, 0.2)))
    assert found.sentence() == (
        "At 1,024 tokens on this CPU, standard is 1.5 x (1.5 x to 1.5 x) faster than flash, "
        "and its map is the same."
    )
    found = verdict(results(timing("flash", 1024, 0.3), timing("linear", 1024, 0.4), device="cuda"))
    assert found.sentence() == (
        "At 1,024 tokens on this GPU, nothing that was measured is faster than flash."
    )


def test_a_verdict_carries_its_interval_and_says_what_was_not_tested():
    linear = Timing("linear", 4096, "forward", 9.0, (0.02, 0.025, 0.03), (), 2e9, 1e9)
    flash = Timing("flash", 4096, "forward", 9.0, (0.3, 0.3, 0.3), (0.3, 0.3, 0.3), 2e9, 1e9)
    # Ratios 15, 12 and 10: their quartiles are 11 and 13.5.
    sentence = verdict(results(linear, flash)).sentence()
    assert "linear is 12 x (11 x to 14 x) faster than flash" in sentence
    # A window as wide as the input leaves nothing out: its map is no finding.
    same = Accuracy("window", 64, 64, 1e-7, 1e-8, 1e-7, 3.0, 3.0)
    found = verdict(results(same, timing("flash", 64, 0.3), timing("window", 64, 0.1)))
    assert found.sentence().endswith(
        "At 64 positions window reaches every key and gives softmax's own map: nothing of what it "
        "leaves out was tested."
    )
    assert is_untested(same)
    assert not is_untested(replace(same, mechanism="standard"))  # exact: nothing is left out
    assert not is_untested(replace(same, worst_variation=0.2))


def test_rounds_that_differ_too_much_are_no_result():
    # Ratios 25, 14 and 2: quartiles 8 and 19.5.
    busy = Timing("linear", 4096, "forward", 9.0, (0.012, 0.3 / 14, 0.15), (), 2e9, 1e9)
    flash = Timing("flash", 4096, "forward", 9.0, (0.3, 0.3, 0.3), (0.3, 0.3, 0.3), 2e9, 1e9)
    found = verdict(results(busy, flash))
    assert found.busy
    assert found.sentence() == (
        "At 4,096 tokens on this CPU, linear is 14 x (8.0 x to 20 x) faster than flash: that is no "
        "result. This machine is too busy to tell: close other programs, and run it again."
    )
    assert unsure(results(busy, flash)) == [("linear", 4096)]
    assert not unsure(results(timing("linear", 4096, 0.02, samples=3), flash))


def test_a_difference_within_the_noise_is_none():
    noisy = timing("flash", 1024, 0.3, again=1.3)
    found = verdict(results(noisy, timing("standard", 1024, 0.25)))
    assert not found.told_apart
    assert found.sentence() == (
        "At 1,024 tokens on this CPU, standard and flash take the same time, as far as one can "
        "tell."
    )


def test_the_verdict_is_of_the_longest_length_with_two_arms():
    messages = [timing("flash", n, 0.1) for n in (1024, 2048, 4096)]
    assert verdict(results(*messages)) is None
    messages.append(timing("linear", 2048, 0.05))
    assert verdict(results(*messages)).length == 2048
    assert verdict(results(*messages), length=4096) is None


def test_growth_and_crossovers_of_a_sweep():
    flash = [timing("flash", n, n**2 / 1e8) for n in (1024, 2048, 4096)]
    linear = [timing("linear", n, n * 2048 / 1e8) for n in (1024, 2048, 4096)]
    held = [Memory("flash", n, "forward", 7 * n, None) for n in (1024, 2048, 4096)]
    found = results(*flash, *linear, *held)
    assert time_growth(found, "flash").exponent == pytest.approx(2)
    assert time_growth(found, "linear").exponent == pytest.approx(1)
    assert memory_growth(found, "flash").exponent == pytest.approx(1)
    assert time_growth(found, "standard") is None
    (crossing,) = crossovers(found, "linear", "flash")
    assert crossing.length == pytest.approx(2048)


def test_the_share_of_the_machines_limit():
    machine = Machine("cpu", "some", 2, flops=1e10, bytes=1e9, versions={})
    one = timing("linear", 1024, 4.0)
    # 2e9 operations take 0.2 s; 1e9 bytes take 1 s, a quarter of the 4 s.
    assert share_of_limit(results(machine, one), one) == pytest.approx(0.25)
    assert share_of_limit(results(one), one) is None


def test_noise_is_the_arm_beside_itself():
    assert timing("flash", 7, 0.3, again=2.0).noise == Spread(2.0, 2.0, 2.0)
    assert timing("linear", 7, 0.3).noise is None
