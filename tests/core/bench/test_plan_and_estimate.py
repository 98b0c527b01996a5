"""Before a sweep: what is refused, and what it will cost by formulas worked out by hand."""

from dataclasses import replace

import pytest
import torch

from core.attention import MECHANISMS
from core.bench.rates import Rates, measured_rates
from core.bench.sweep import estimate as estimating
from core.bench.sweep import plan as planning
from core.bench.sweep.estimate import Estimate, estimate, in_bytes, in_time, peak, refuse
from core.bench.sweep.plan import Plan, check
from core.bench.timing import ROUNDS
from core.errors import InputError, MechanismError
from tests.core.attention.runnable import RUNNABLE

SMALL = Plan(mechanisms=("flash", "linear"), lengths=(7, 11), heads=3, dim=5, rounds=5, threads=1)


def refused(**changes):
    with pytest.raises(InputError) as error:
        check(replace(SMALL, **changes))
    return str(error.value)


def test_a_plan_of_whole_numbers_passes():
    check(SMALL)
    check(Plan(mechanisms=tuple(RUNNABLE), lengths=(11,), heads=2, dim=8, threads=1))


@pytest.mark.parametrize("number", [0, -3, 10**9])
@pytest.mark.parametrize("name", ["batch", "heads", "dim", "rounds", "threads"])
def test_zero_negative_and_absurd_numbers_are_refused(name, number):
    said = refused(**{name: number})
    assert said.startswith(f"{name}: a whole number from ")
    assert said.endswith(f"was wanted; {number:,} came.")


@pytest.mark.parametrize("length", [0, -1, 10**9])
def test_lengths_are_refused_the_same_way(length):
    assert refused(lengths=(7, length)).endswith(
        f"from 1 to 1,048,576 was wanted; {length:,} came."
    )


def test_names_are_checked_and_repeats_refused():
    assert refused(mechanisms=("flash", "magic")).endswith("was wanted; 'magic' came.")
    assert refused(mechanisms=()).endswith("none came.")
    assert refused(lengths=()).endswith("none came.")
    assert refused(mechanisms=("flash", "flash")).endswith("'flash' came twice.")
    assert refused(lengths=(11, 11)).endswith("11 came twice.")
    assert refused(most_seconds=-1.0).endswith("-1.0 came.")
    assert "'tpu' came" in refused(device="tpu")
    assert "'float8' came" in refused(precision="float8")


def test_b4_fewer_rounds_than_a_spread_needs_are_refused():
    assert f"from {ROUNDS} to" in refused(rounds=ROUNDS - 1)


def test_half_precision_is_refused_where_the_device_has_none(monkeypatch):
    monkeypatch.setattr(planning.devices, "precisions", lambda _: ("float32",))
    said = refused(precision="float16")
    assert said == "A precision that works on cpu was wanted (float32); 'float16' came."


def test_b3_an_arm_that_cannot_run_here_is_refused_with_its_reason(monkeypatch):
    monkeypatch.setattr(planning, "unavailable", lambda name, *_: "no kernel")
    assert refused() == "'flash' cannot run here: no kernel."


def test_a_head_dim_that_no_kernel_takes_is_refused(monkeypatch):
    def attend(inputs):
        dim = inputs.query.shape[-1]
        raise MechanismError(f"flash: at most 256 dimensions are taken; {dim} came.")

    monkeypatch.setitem(MECHANISMS, "flash", replace(MECHANISMS["flash"], attend_kernel=attend))
    assert refused(dim=257) == (
        "'flash' does not take these sizes: flash: at most 256 dimensions are taken; 257 came."
    )


def test_the_base_is_flash_or_else_the_first_exact_arm():
    assert SMALL.base == "flash"
    assert replace(SMALL, mechanisms=("linear", "standard")).base == "standard"
    assert replace(SMALL, mechanisms=("favor", "linear")).base == "favor"


def test_time_is_the_limit_over_the_share_that_kernels_reach(monkeypatch):
    monkeypatch.setattr(estimating, "REACHED", 0.5)
    plan = Plan(mechanisms=("flash",), lengths=(1000,), heads=1, dim=100, rounds=5, threads=1)
    # 4 x 1000 x 1000 x 100 operations take 0.4 s at 1e9 a second, 0.8 s at half of that. Rounds,
    # the same again as noise, a warm-up and a memory pass are 12 calls; a check is 3.5.
    starting = estimating.STARTING + 2 * estimating.STARTING_EACH  # flash, and flash once more
    slow = estimate(plan, Rates(flops=1e9, bytes=1e12))
    assert slow.seconds == pytest.approx(starting + 0.8 * (12 + 3.5))
    # 4 x 1000 x 100 numbers of 4 bytes at 1e6 a second: 1.6 s, more than the 0.4 s of computing.
    slow = estimate(plan, Rates(flops=1e9, bytes=1e6))
    assert slow.seconds == pytest.approx(starting + 3.2 * (12 + 3.5))


def test_memory_is_that_of_the_arm_that_takes_most():
    plan = Plan(mechanisms=("linear", "standard"), lengths=(500, 1000), heads=3, dim=8, threads=1)
    found = estimate(plan, Rates(1e9, 1e9))
    assert (found.mechanism, found.length) == ("standard", 1000)
    # Scores and weights of 3 heads; q, k and v, here and in 3 processes; 64 rows in float64 thrice;
    # k and v in float64.
    numbers = 3 * 1000 * 8
    checked = 3 * 8 * 3 * 1000 * 64 + 2 * 8 * numbers
    assert found.peak_bytes == 2 * 4 * 3 * 1000**2 + 4 * 3 * 4 * numbers + checked
    training = peak(replace(plan, backward=True), "standard", 1000)
    assert training == 3 * (2 * 4 * 3 * 1000**2) + (2 + 3 * 3) * 3 * 4 * numbers


def test_what_would_not_fit_is_refused_with_figures():
    plan = replace(SMALL, most_seconds=600.0)
    with pytest.raises(InputError) as error:
        refuse(plan, Estimate(1.0, 137e9, "standard", 65_536), free=16e9)
    assert str(error.value) == (
        "Standard at 65,536 positions would take about 137 GB of memory; 16 GB are free. "
        "Take shorter lengths, or leave 'standard' out."
    )
    with pytest.raises(InputError) as error:
        refuse(plan, Estimate(2520.0, 1e6, "flash", 7), free=16e9)
    assert str(error.value).startswith(
        "This run would take about 42 minutes; at most 10 minutes are allowed."
    )
    refuse(plan, Estimate(599.0, 1e9, "flash", 7), free=16e9)


def test_a_plan_too_large_for_any_machine_is_refused_before_it_runs():
    with pytest.raises(InputError, match=r"of memory; .* are free"):
        estimating.require_fit(Plan(mechanisms=("standard",), lengths=(2**20,), heads=8))


def test_amounts_are_said_as_people_say_them():
    assert [in_bytes(each) for each in (7.0, 1.5e3, 2.2e9)] == ["7 bytes", "1.5 kB", "2.2 GB"]
    assert [in_time(each) for each in (7.4, 180.0, 7200.0)] == ["7 seconds", "3 minutes", "2 hours"]


def test_the_limit_is_the_slower_of_computing_and_moving():
    rates = Rates(flops=10.0, bytes=5.0)
    assert rates.limit(20.0, 5.0) == 2.0
    assert rates.limit(20.0, 15.0) == 3.0
    assert rates.or_better(Rates(11.0, 4.0)) == Rates(11.0, 5.0)


def test_rates_of_this_machine_are_positive():
    found = measured_rates("cpu", torch.float32)
    assert found.flops > 0
    assert found.bytes > 0
