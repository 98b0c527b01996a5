"""Who is cheaper from which length on: told as measured, and no further."""

import pytest

from core.bench.results.standing import standings
from core.bench.sweep.messages import Timing
from core.bench.sweep.plan import Plan
from core.bench.sweep.saved import Results

LENGTHS = (100, 1_000, 10_000)


def timing(mechanism, length, seconds, noise=1.0):
    again = (seconds * noise,) * 5 if mechanism == "flash" else ()
    return Timing(mechanism, length, "forward", 9.0, (seconds,) * 5, again, None, None)


def standing(linear, flash=(1.0, 10.0, 100.0), noise=1.0):
    messages = [timing("flash", *pair, noise) for pair in zip(LENGTHS, flash, strict=False)]
    messages += [timing("linear", *pair) for pair in zip(LENGTHS, linear, strict=False)]
    plan = Plan(mechanisms=("flash", "linear"), lengths=LENGTHS)
    return standings(Results(plan, tuple(messages), False))


def test_one_crossing_and_the_cheaper_one_after_it():
    (found,) = standing((2.0, 10.0, 50.0))
    assert (found.mechanism, found.base) == ("linear", "flash")
    assert [each.length for each in found.crossings] == [pytest.approx(1_000)]
    assert found.cheaper is True
    assert not found.always
    (found,) = standing((0.5, 10.0, 200.0))
    assert found.cheaper is False


def test_cheaper_or_dearer_at_every_length():
    (found,) = standing((0.5, 5.0, 50.0))
    assert found.cheaper is True
    assert found.always
    assert (found.shortest, found.longest) == (100, 10_000)
    assert found.beyond is None  # the same exponent: they never meet
    (found,) = standing((2.0, 20.0, 200.0))
    assert found.cheaper is False


def test_where_fitted_curves_would_meet_beyond():
    # Flash as N^2, linear as N: 1e-4 N^2 = 2 N where N = 20,000.
    (found,) = standing((200.0, 2_000.0, 20_000.0), (1.0, 100.0, 10_000.0))
    assert found.cheaper is False
    assert found.beyond == pytest.approx(20_000)
    # At 2,000,000 they would meet too: too far to say.
    (found,) = standing((2e4, 2e5, 2e6), (1.0, 100.0, 10_000.0))
    assert found.beyond is None


def test_what_the_noise_hides_is_not_told_apart():
    (found,) = standing((0.9, 9.0, 90.0), noise=1.2)
    assert found.cheaper is None
    assert not found.always


def test_one_length_tells_nothing():
    assert standing((2.0,)) == []
