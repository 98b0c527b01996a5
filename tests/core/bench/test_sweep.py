"""Sweeps in a real child process: results as they come, cancel, death, and what is kept."""

import os
import signal
import threading
import time
from dataclasses import replace

import psutil
import pytest
import torch

from core.attention import MECHANISMS
from core.bench import processes
from core.bench.sweep import measuring, sweep, turns
from core.bench.sweep.measuring import DIFFERENT, measured, warning
from core.bench.sweep.messages import (  # fmt: skip
    Accuracy,
    Finished,
    Machine,
    Memory,
    Progress,
    Refused,
    Timing,
    from_line,
    to_line,
)
from core.bench.sweep.plan import Plan
from core.bench.sweep.saved import from_json, of_kind, save, to_json
from core.bench.sweep.sweep import Sweep
from core.bench.sweep.turns import Refilled, Turn, fresh, runners, work
from core.errors import InputError, MechanismError
from tests.core.bench import stand_in

TINY = Plan(mechanisms=("flash", "linear"), lengths=(16, 32), heads=2, dim=8, rounds=5, threads=1)
# Long enough to be ended in the middle on any machine.
LONG = replace(TINY, lengths=(2048,), rounds=1000, most_seconds=1e9)


@pytest.fixture
def quick_child(monkeypatch):
    """For what the parent does: its children measure nothing and are there at once."""
    stand_in.put(monkeypatch)


def children():
    return {
        process.pid
        for process in psutil.Process().children(recursive=True)
        if process.status() != psutil.STATUS_ZOMBIE
    }


def gone(pid, within=10.0):
    end = time.monotonic() + within
    while psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE:
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True


@pytest.mark.processes
def test_a_tiny_sweep_tells_everything_and_leaves_nothing_behind(tmp_path):
    before, out = children(), tmp_path / "results.json"
    run = Sweep(TINY, out)
    found = list(run)
    assert isinstance(found[0], Machine)
    assert found[0].threads == 1
    assert isinstance(found[-1], Finished)
    wanted = {(name, n, "forward") for name in TINY.mechanisms for n in TINY.lengths}
    timings, memories = of_kind(found, Timing), of_kind(found, Memory)
    assert {(each.mechanism, each.length, each.kind) for each in timings} == wanted
    assert {(each.mechanism, each.length, each.kind) for each in memories} == wanted
    assert {len(each.samples) for each in timings} == {TINY.rounds}
    assert {each.mechanism for each in timings if each.again} == {"flash"}
    assert len(of_kind(found, Accuracy)) == 4
    shares = [each.share for each in of_kind(found, Progress)]
    assert shares == sorted(shares)
    assert shares[-1] <= 1
    assert run.results.finished
    assert children() <= before  # a browser of other tests may have ended one of its own
    kept = from_json(out.read_text())
    assert kept.finished
    assert kept.plan == run.plan
    assert kept.messages == tuple(each for each in found if not isinstance(each, Progress))
    assert kept.messages[0].versions["torch"] == torch.__version__.split("+")[0]


def test_training_steps_are_measured_too(monkeypatch):
    monkeypatch.setattr(processes, "BLOCK", 0.0)
    plan = replace(TINY, lengths=(16,), backward=True)
    found = list(measured(plan, alone=False))
    kinds = ("forward", "training", "checkpointed")
    wanted = {(mechanism, kind) for mechanism in TINY.mechanisms for kind in kinds}
    for kind in (Timing, Memory):
        assert {(each.mechanism, each.kind) for each in of_kind(found, kind)} == wanted


def test_cancel_in_the_middle_ends_the_child_and_keeps_what_came(quick_child, tmp_path):
    out = tmp_path / "results.json"
    run = Sweep(LONG, out)
    seen = []
    for message in run:
        seen.append(message)
        if isinstance(message, Progress) and "round 2" in message.doing:
            pid = run._child.pid
            threading.Thread(target=run.cancel).start()
    assert gone(pid)
    assert not isinstance(seen[-1], Finished)
    assert run.cancelled
    assert of_kind(run.results.messages, Accuracy)
    kept = from_json(out.read_text())
    assert not kept.finished
    assert len(of_kind(kept.messages, Accuracy)) == 2


def test_leaving_the_loop_ends_the_child(quick_child):
    run = Sweep(LONG)
    results = iter(run)
    next(results)
    pid = run._child.pid
    assert psutil.pid_exists(pid)
    results.close()
    assert gone(pid)


def test_cancelled_before_the_start_it_never_starts():
    run = Sweep(TINY)
    run.cancel()
    assert list(run) == []
    assert run._child is None


def test_a_sweep_runs_once(quick_child):
    run = Sweep(TINY)
    next(iter(run))
    with pytest.raises(ValueError, match="this one has"):
        list(run)


def test_a_child_that_is_killed_is_told_as_such(quick_child):
    run = Sweep(LONG)
    results = iter(run)
    next(results)
    os.kill(run._child.pid, signal.SIGKILL)
    with pytest.raises(InputError, match=r"too early, by the signal SIGKILL, often a sign"):
        list(results)
    assert gone(run._child.pid)


def test_the_last_words_of_a_child_that_dies_are_told(monkeypatch):
    dying = "import sys; sys.exit('it said: no more memory')"
    monkeypatch.setattr(sweep, "CHILD", ("-c", dying))
    with pytest.raises(InputError) as error:
        list(Sweep(TINY))
    assert str(error.value) == (
        "The process that measures ended too early, with code 1; "
        "its last words: it said: no more memory"
    )


@pytest.mark.processes
def test_a_child_does_not_outlive_its_parent():
    run = Sweep(LONG)
    results = iter(run)
    next(results)
    run._child.stdin.close()  # what the system does when the parent goes
    assert gone(run._child.pid)
    results.close()


def test_a_file_that_cannot_be_written_is_told(quick_child, tmp_path):
    with pytest.raises(InputError, match="cannot be written"):
        list(Sweep(TINY, tmp_path / "nowhere" / "results.json"))


def test_messages_and_files_come_back_as_they_were(tmp_path):
    timing = Timing("flash", 7, "forward", 0.5, (0.1, 0.2), (), 1.0, None)
    assert from_line(to_line(timing)) == timing
    with pytest.raises(ValueError, match="'noise' came"):
        from_line('{"message": "noise"}')
    results = sweep.Results(TINY, (timing, Progress(0.5, "x")), False)
    assert from_json(to_json(results)).messages == (timing,)
    save(tmp_path / "one.json", results)
    assert [each.name for each in tmp_path.iterdir()] == ["one.json"]
    for broken in ("", "[]", "{}", '{"plan": {"mechanisms": 1}, "results": [], "finished": true}x'):
        with pytest.raises(InputError, match="this is not one"):
            from_json(broken)


def test_inputs_are_fresh_in_every_round_and_the_same_for_every_run():
    rounds = [fresh(TINY, 16, number)[0] for number in range(3)]
    assert not torch.equal(rounds[0], rounds[1])
    assert torch.equal(rounds[1], fresh(TINY, 16, 1)[0])
    assert not torch.equal(rounds[1], fresh(replace(TINY, seed=1), 16, 1)[0])


def test_b4_all_arms_take_their_turn_in_each_round(monkeypatch):
    order = []

    def named(attend, kind, causal):
        name = next(each for each in MECHANISMS if MECHANISMS[each].attend == attend)
        return lambda _: order.append(name[0])

    monkeypatch.setattr(turns, "work", named)
    monkeypatch.setattr(processes, "BLOCK", 0.0)
    monkeypatch.setattr(measuring, "WIDE", 1e9)
    with runners(TINY, None, alone=False) as takers:
        timings = of_kind(measuring.timed(TINY, ["flash", "linear"], 16, takers), Timing)
    # A warm-up and 5 rounds; flash once more for the noise.
    assert "".join(order) == "flf" * 6
    assert [len(each.samples) for each in timings] == [5, 5]


class Scripted(processes.Runner):
    """Takes the times that it was given, one a turn."""

    def __init__(self, *times):
        self.times = iter(times)

    def turn(self, *about):
        time = next(self.times)
        return processes.Sample(time, time)


def test_rounds_that_differ_too_much_are_taken_once_more_and_the_steadier_count():
    steady = [1.0] * 11
    takers = {
        Turn("flash", "forward"): Scripted(*steady),
        # After the warm-up a set from 3 x to 25 x, then one that is steady.
        Turn("linear", "forward"): Scripted(9.0, 0.04, 0.33, 0.07, 0.05, 0.3, *[0.1] * 5),
        Turn("flash", "forward", again=True): Scripted(*steady),
    }
    timings = of_kind(measuring.timed(TINY, ["flash", "linear"], 16, takers), Timing)
    assert {each.tries for each in timings} == {2}
    assert timings[1].samples == (0.1,) * 5
    once = {
        Turn("flash", "forward"): Scripted(*steady),
        Turn("linear", "forward"): Scripted(*[0.1] * 6),
        Turn("flash", "forward", again=True): Scripted(*steady),
    }
    timings = of_kind(measuring.timed(TINY, ["flash", "linear"], 16, once), Timing)
    assert {each.tries for each in timings} == {1}


def test_inputs_are_refilled_in_the_same_memory():
    refilled = Refilled(TINY)
    first = refilled.at(32, 1)[0]
    kept, there = first.clone(), first.data_ptr()
    second = refilled.at(32, 2)[0]
    assert second.data_ptr() == there
    assert not torch.equal(second, kept)
    assert torch.equal(refilled.at(32, 1)[0], kept)
    assert refilled.at(16, 1)[0].shape == (1, 2, 16, 8)


def test_an_exact_arm_that_is_wrong_is_not_timed(monkeypatch):
    def attend(inputs):
        return 1.01 * MECHANISMS["standard"].attend_kernel(inputs)

    monkeypatch.setitem(MECHANISMS, "flash", replace(MECHANISMS["flash"], attend_kernel=attend))
    found = list(measured(replace(TINY, lengths=(16,)), alone=False))
    assert {each.mechanism for each in of_kind(found, Timing)} == {"linear"}
    (refused,) = of_kind(found, Refused)
    assert refused.reason == "flash is not timed: its output is off by 1.0e-02 of its size."


def test_an_arm_that_does_not_take_a_length_is_named_and_the_others_go_on(monkeypatch):
    def attend(inputs):
        raise MechanismError("linear: a square number of positions was wanted.")

    monkeypatch.setitem(MECHANISMS, "linear", replace(MECHANISMS["linear"], attend_kernel=attend))
    found = list(measured(replace(TINY, lengths=(16,)), alone=False))
    assert [(each.mechanism, each.length) for each in of_kind(found, Refused)] == [("linear", 16)]
    assert {each.mechanism for each in of_kind(found, Timing)} == {"flash"}


def test_training_steps_give_the_same_gradients_with_and_without_checkpoints():
    inputs = fresh(TINY, 16, 0)
    plain, saved = (
        work(MECHANISMS["standard"].attend, kind, True)(inputs)
        for kind in ("training", "checkpointed")
    )
    for one, other in zip(plain, saved, strict=True):
        torch.testing.assert_close(one, other)


def test_b5_checkpointing_holds_less():
    plan = replace(TINY, lengths=(256,))
    plain, saved = (
        measuring.held(plan, "standard", 256, kind).measured
        for kind in ("training", "checkpointed")
    )
    assert saved < 0.9 * plain


def test_b5_a_peak_far_from_its_formula_gets_a_warning():
    assert warning("flash", 1000, 1000 * (1 + DIFFERENT) - 1) == ""
    assert warning("flash", None, 1000.0) == warning("flash", 1000, None) == ""
    assert warning("flash", 1000, 1111.0) == (
        "flash: 1,000 bytes were measured, and the formula says 1,111: "
        "one of the two is wrong here."
    )
