"""Lab page: measures by itself at first, tells what fits, stops at once, and keeps what it has."""

import psutil
import pytest
from streamlit.testing.v1 import AppTest

from app.services.jobs.sweep import SweepJob
from app.words import say

PATIENCE = 180.0


def captions(page: AppTest) -> str:
    return "\n".join(caption.value for caption in page.caption)


def group(page: AppTest, key: str):
    return next(item for item in page.button_group if item.key == key)


@pytest.fixture
def lab(open_page):
    """The page with the smallest plan; its process is gone when the test is over."""
    page = open_page("lab")
    page.session_state["lab_state"].job.cancel()
    yield page
    page.session_state["lab_state"].job.cancel()


def choose(page: AppTest, *mechanisms: str, **numbers: int) -> AppTest:
    group(page, "lab_arms").set_value(list(mechanisms))
    page.select_slider(key="lab_longest").set_value(512)
    for name, number in numbers.items():
        page.number_input(key=f"lab_{name}").set_value(number)
    return page.run()


def ask(page: AppTest, *mechanisms: str, **numbers: int) -> AppTest:
    choose(page, *mechanisms, **numbers)
    return page.button(key="lab_run").click().run()


def running(page: AppTest) -> SweepJob:
    return page.session_state["lab_state"].job


def test_a_sweep_ends_in_a_verdict_curves_and_a_table(lab):
    page = ask(lab, "flash", "linear", heads=2, dim=16)
    assert not page.exception
    assert running(page).finished.wait(PATIENCE)
    page.run()
    assert not page.exception
    assert not page.warning
    assert page.markdown[1].value.startswith("**At 512 tokens on this CPU")
    assert len(page.get("plotly_chart")) == 2
    table = page.dataframe[0].value
    assert list(table[say("lab_mechanism")]) == ["Flash", "Linear"]
    assert table[say("lab_variation")][0] == pytest.approx(0, abs=1e-5)  # flash is exact
    assert table[say("lab_variation")][1] > 0.01  # elu + 1 is no softmax
    assert table[say("lab_ratio", base="Flash")][0] == 1


def test_the_estimate_follows_the_choices_before_anything_runs(lab):
    before = running(lab)
    page = choose(lab, "flash", dim=16)
    small = next(each.value for each in page.caption if each.value.startswith("About"))
    page.select_slider(key="lab_longest").set_value(8192)
    page.run()
    large = next(each.value for each in page.caption if each.value.startswith("About"))
    assert small != large
    assert running(page) is before
    assert say("lab_stale") in captions(page)
    page = choose(page, "standard", heads=1024, batch=1024)
    refused = [each.value for each in page.warning]
    assert len(refused) == 1
    assert running(page) is before
    page.button(key="lab_run").click().run()
    # Free memory is told in GB, so the sentence is the same as before.
    assert [each.value for each in page.warning] == refused
    assert running(page) is before


def test_lengths_of_ones_own(sweeps_here, lab):
    page = choose(lab, "flash", "linear", heads=2, dim=16)
    page.text_input(key="lab_lengths").set_value("50, 333 100")
    page.button(key="lab_run").click().run()
    assert running(page).sweep.plan.lengths == (50, 333, 100)
    assert running(page).finished.wait(PATIENCE)
    page.run()
    assert page.selectbox(key="lab_at_[50, 100, 333]").value == 333


@pytest.mark.parametrize("typed", ["many", "512; 1.5", "10, 10", "0", "-4", "9" * 30])
def test_lengths_that_nobody_can_measure_are_told_once_and_kept(lab, typed):
    before = running(lab)
    page = choose(lab, "flash")
    page.text_input(key="lab_lengths").set_value(typed)
    page.button(key="lab_run").click().run()
    assert not page.exception
    assert len(page.warning) == 1
    assert page.text_input(key="lab_lengths").value == typed
    assert running(page) is before


def test_a_time_limit_is_kept(lab):
    page = choose(lab, "standard", most_seconds=1)
    assert "at most 1 seconds are allowed" in page.warning[0].value.replace("\\", "")


@pytest.mark.parametrize(
    ("name", "number"),
    [("heads", 0), ("dim", -3), ("rounds", 2), ("threads", 10**6), ("seed", -1)],
)
def test_absurd_numbers_are_named_and_kept(lab, name, number):
    page = ask(lab, "flash", **{name: number})
    assert not page.exception
    assert len(page.warning) == 1
    assert f"{number:,} came" in page.warning[0].value
    assert page.number_input(key=f"lab_{name}").value == number


def test_what_would_not_fit_is_refused_before_it_runs(lab, monkeypatch):
    monkeypatch.setattr("core.bench.sweep.estimate.free_bytes", lambda device: 8e9)
    before = running(lab)
    page = ask(lab, "standard", heads=1024, batch=1024)
    assert not page.exception
    (warning,) = (each.value.replace("\\", "") for each in page.warning)
    # One matrix of scores alone is 1024 x 1024 x 512 x 512 x 4 bytes: 1.1 TB.
    assert warning.startswith("Standard at 512 positions would take about ")
    assert "TB of memory; 8.0 GB are free." in warning
    assert running(page) is before


def test_no_mechanism_is_explained(lab):
    page = ask(lab)
    assert not page.exception
    assert "At least one mechanism" in page.warning[0].value


def test_cancel_leaves_no_process_and_keeps_what_was_measured(lab):
    page = ask(lab, "flash", "linear", rounds=900)
    child = running(page)
    page.button(key="lab_cancel").click().run()
    assert child.finished.wait(20)
    page.run()
    assert say("lab_cancelled") in captions(page)
    left = psutil.Process().children(recursive=True)
    assert [each for each in left if "core.bench.sweep" in " ".join(each.cmdline())] == []
