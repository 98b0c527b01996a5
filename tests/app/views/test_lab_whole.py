"""Whole models on the lab page: a first result by itself, choices, bad input, and Cancel."""

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
import plotly.graph_objects as go
import pytest
from streamlit.testing.v1 import AppTest

from app.charts.model import layer_drift_chart, page, written
from app.services import loaders
from app.services.jobs import job
from app.services.jobs.job import Status
from app.services.jobs.model import ModelJob
from app.words import say
from core.bench.model.drift import OutputDrift
from core.bench.model.layers import Layer
from core.bench.model.measuring import OWN, Cell, Measured
from core.bench.model.study import ModelStudy
from core.bench.timing import Spread
from tests.app.conftest import MAIN, type_model

PATIENCE = 240.0


@pytest.fixture
def whole(open_page, fetched, monkeypatch):
    """The page, its choice made before anything was measured; its run is over after the test."""
    fetched("minilm")
    monkeypatch.setattr("app.services.jobs.model.ROUNDS", 2)  # enough to see that all is shown
    started = []

    def opened(**state) -> AppTest:
        test = AppTest.from_file(str(MAIN), default_timeout=120)
        test.switch_page("views/lab/lab.py")
        test.session_state["lab_section"] = "model"
        for key, value in state.items():
            test.session_state[key] = value
        started.append(test)
        return test.run()

    yield opened
    for test in started:
        if running(test) is not None:
            running(test).cancel()
            assert running(test).finished.wait(60)


def group(test: AppTest, key: str):
    return next(item for item in test.button_group if item.key == key)


def running(test: AppTest) -> ModelJob | None:
    return test.session_state["lab_whole_state"].job


def done(test: AppTest) -> AppTest:
    """The page when its run has ended; nothing looks at it by itself in here, as a browser does."""
    end = time.monotonic() + PATIENCE
    while not running(test).finished.wait(1):
        running(test).seen()
        assert time.monotonic() < end
    test.run()
    assert not test.exception
    return test


def small(opened) -> AppTest:
    """The page with a short text and two mechanisms; the first run was of them."""
    return opened(lab_whole_text="It was too tired.", lab_whole_mechanisms=["flash", "linear"])


def captions(test: AppTest) -> str:
    return "\n".join(caption.value for caption in test.caption)


def test_the_first_visit_ends_in_a_verdict_a_table_and_a_picture(whole):
    test = whole()
    assert (
        test.session_state["lab_state"].job is None
    )  # the sweep of the other section did not start
    test = done(test)
    assert not test.warning
    assert test.markdown[1].value.startswith("**In all layers of minilm, at ")
    table = test.dataframe[0].value
    assert table[say("lab_whole_mechanism")][0] == say("lab_whole_own")
    cosines = dict(
        zip(table[say("lab_whole_mechanism")], table[say("lab_whole_cosine")], strict=True)
    )
    assert cosines["Standard"] == pytest.approx(1, abs=1e-6)
    assert all(0 < cosines[name] < 0.999 for name in ("Linear", "Window 128", "Top 32"))
    assert len(test.get("plotly_chart")) == 1
    assert len(running(test).study.cells) == 6 * 5  # five of six mechanisms are not exact
    assert [button.label for button in test.get("download_button")] == ["JSON", "CSV", "HTML"]


def test_a_range_of_layers_is_measured_beside_all_of_them(whole):
    test = done(small(whole))
    test.select_slider(key="lab_whole_range_minilm").set_value((1, 2))
    test = done(test.button(key="lab_whole_run").click().run())
    table = test.dataframe[0].value
    assert list(table[say("lab_whole_layers")]) == ["all layers"] * 2 + ["layers 1 to 2"] + [
        "all layers", "layers 1 to 2"
    ]  # fmt: skip
    assert any(
        "linear in layers 1 to 2 only" in each.value.replace("\\", "") for each in test.markdown
    )


def test_what_is_shown_is_said_to_be_of_other_choices(whole):
    test = done(small(whole))
    assert say("lab_whole_stale") not in captions(test)
    test.selectbox(key="lab_whole_model").set_value("smollm2").run()
    assert say("lab_whole_stale") in captions(test)
    assert say("lab_whole_unknown") in captions(test)


@pytest.mark.parametrize(
    ("text", "mechanisms", "words"),
    [("  ", ["linear"], "Type at least one word."), ("cat", [], "At least one mechanism")],
)
def test_bad_input_is_one_sentence_and_the_last_result_stays(whole, text, mechanisms, words):
    test = done(small(whole))
    test.text_area(key="lab_whole_text").set_value(text)
    group(test, "lab_whole_mechanisms").set_value(mechanisms)
    test.button(key="lab_whole_run").click().run()
    assert not test.exception
    (warning,) = test.warning
    assert words in warning.value.replace("\\", "")
    assert test.dataframe


def test_a_name_that_no_model_has_is_one_sentence(whole):
    test = done(small(whole))
    type_model(test, "lab_whole_model", "no/such-model")
    test.run()
    assert group(test, "lab_whole_reads").value == "text"
    type_model(test, "lab_whole_model", "no/such-model")
    test.button(key="lab_whole_run").click().run()
    assert not test.exception
    assert len(test.warning) == 1
    assert "no/such\\-model" in test.warning[0].value


@pytest.fixture
def endless(monkeypatch) -> Callable[..., None]:
    """Puts a study in the place of the real one that shows what it is told and never ends."""

    def put(*shown: ModelStudy) -> None:
        def study(*_, on_step, **__) -> Iterator[ModelStudy]:
            yield from shown
            while True:
                on_step(0.5)
                time.sleep(0.01)

        monkeypatch.setattr("app.services.jobs.model.study", study)

    return put


@pytest.mark.parametrize(
    ("measured", "words"), [(False, "lab_whole_nothing"), (True, "lab_whole_cancelled")]
)
def test_cancel_ends_it_at_once_and_keeps_the_machine_free(whole, endless, measured, words):
    endless(*[replace(finished(), finished=False)] * measured)
    test = small(whole)
    run = running(test)
    while measured and run.study is None:
        assert not run.finished.wait(0.01)
    test.button(key="lab_whole_cancel").click().run()
    assert run.finished.wait(30)
    test.run()
    assert not test.exception
    assert say(words) in captions(test).split("\n")
    with loaders.turns().turn(lambda ahead: pytest.fail("somebody is still before us")):
        pass


def test_a_second_visitor_waits_and_can_leave(whole):
    with loaders.turns().turn(lambda ahead: None):
        test = small(whole)
        for _ in range(100):
            if running(test).ahead:
                break
            time.sleep(0.1)
        assert running(test).ahead == 1
        running(test).cancel()
        assert running(test).finished.wait(10)
    assert running(test).study is None


def test_a_run_that_nobody_looks_at_ends(whole, endless, monkeypatch):
    monkeypatch.setattr(job, "UNSEEN", 0.0)
    endless()
    test = small(whole)
    assert running(test).finished.wait(PATIENCE)
    assert running(test).status is Status.CANCELLED
    test.run()
    assert say("lab_whole_nothing") in captions(test).split("\n")


def test_the_other_section_ends_the_run_of_this_one(whole, endless):
    endless()
    test = small(whole)
    group(test, "lab_section").set_value("call").run()
    assert running(test).finished.wait(PATIENCE)
    assert running(test).status is Status.CANCELLED
    test.session_state["lab_state"].job.cancel()


def drawn() -> go.Figure:
    return layer_drift_chart(finished())


def finished() -> ModelStudy:
    values = {(0, "linear"): 0.75, (1, "linear"): 0.9997, (0, "topk"): 1.0, (1, "topk"): None}
    cells = tuple(
        Cell(call, name, value, None if value else "no.") for (call, name), value in values.items()
    )
    own = Measured(OWN, (1.0,), Spread(1.0, 1.0, 1.0), drift=OutputDrift("hidden states", 1.0, 0.0))
    layers = Layer(0, "encoder 0"), Layer(1, "decoder 0")
    names = ("linear", "topk")
    return ModelStudy("tiny", 4, "cpu", "float32", 1, names, layers, None, (own,), cells, True)


def test_the_picture_has_a_row_for_each_layer_and_a_column_for_each_mechanism():
    heat, numbers = drawn().data
    assert list(heat.x) == ["Linear", "Top 32"]
    assert list(heat.y) == ["encoder 0", "decoder 0"]
    np.testing.assert_allclose(heat.z, [[0.25, 0], [0.0003, math.nan]], atol=1e-12)
    assert (heat.zmin, heat.zmax) == (0, 0.25)
    assert list(numbers.text) == ["0.250", "0", "&lt;.001", "-"]
    assert heat.text[0][0] == "Encoder 0 by itself through Linear:<br>cosine 0.75, drift 0.25"
    assert "refused" in heat.text[1][1]


def test_zero_is_the_ground_of_the_page_and_rounding_has_no_colour():
    heat = drawn().data[0]
    assert heat.colorscale[0][1].endswith(",0)")
    assert written(Cell(0, "linear", 1 - 1e-9)) == "0"


def test_the_picture_opens_without_a_connection():
    text = page(finished())
    assert "cdn.plot.ly" not in text.split("</script>")[-2]
    assert 'src="http' not in text
