"""A cost is measured beside the page: it comes, can be cancelled, and says what went wrong."""

import threading

import pytest

from app.services.jobs import cost
from app.services.jobs.cost import CostJob
from app.services.jobs.job import Status
from app.services.turns import Turns
from app.words import say
from core.errors import InputError


class Named:
    """All that a measurement wants of a run when the measuring itself is replaced."""

    model = "tiny"


@pytest.fixture
def measure_by(monkeypatch):
    """Puts a function in the place of `measure`, and starts a measurement with it."""

    def start(work, turns=None) -> CostJob:
        monkeypatch.setattr(cost, "measure", lambda model, run, on_step: work(on_step))
        return CostJob(None, Named(), turns or Turns())

    return start


def test_it_ends_with_what_was_measured_and_tells_the_share(measure_by):
    seen = threading.Event()

    def work(on_step):
        on_step(0.5)
        seen.wait(5)
        return "the cost"

    one = measure_by(work)
    while one.share == 0:
        pass
    assert one.share == 0.5
    assert not one.finished.is_set()
    seen.set()
    assert one.finished.wait(5)
    assert one.cost == "the cost"
    assert one.status is Status.DONE


def test_cancel_ends_it_at_the_next_step_and_frees_the_queue(measure_by):
    turns, asked = Turns(), threading.Event()

    def work(on_step):
        asked.wait(5)
        on_step(0.1)
        pytest.fail("it went on")

    one = measure_by(work, turns)
    one.cancel()
    asked.set()
    assert one.finished.wait(5)
    assert one.status is Status.CANCELLED
    assert one.error is None
    with turns.turn(lambda ahead: pytest.fail("the queue is still taken")):
        pass


def test_while_it_waits_for_its_turn_it_can_be_cancelled_too(measure_by):
    turns = Turns()
    with turns.turn(lambda ahead: None):
        one = measure_by(lambda on_step: pytest.fail("it was not its turn"), turns)
        one.cancel()
        assert one.finished.wait(5)
    assert one.cost is None
    assert one.status is Status.CANCELLED


@pytest.mark.parametrize(
    ("failure", "said"),
    [
        (InputError("There is not enough memory."), "There is not enough memory."),
        (RuntimeError("secret detail"), say("cost_failed")),
    ],
)
def test_what_went_wrong_is_one_sentence(measure_by, failure, said):
    def work(on_step):
        raise failure

    one = measure_by(work)
    assert one.finished.wait(5)
    assert one.error == said
    assert one.status is Status.FAILED
