"""Services: one way from a request to its result, and no cache of Streamlit's anywhere else."""

from pathlib import Path

import pytest

from app.services.requests import Callbacks
from app.services.service import Service
from app.services.store import Store
from core.errors import InputError

APP = Path(__file__).parents[3] / "app"


@pytest.fixture
def made():
    """What a service was asked to make, in order."""
    return []


@pytest.fixture
def service(made):
    """Repeats a source as often as its request says; 0 cannot be made."""

    def repeat(request: int, source: str, callbacks: Callbacks) -> str:
        made.append(request)
        callbacks.on_progress("repeating", 0.5)
        if request == 0:
            raise InputError("Once or more often was wanted; 0 came.")
        return source * request

    return Service(Store(13, len), repeat)


def test_a_result_is_made_once_and_then_found(service, made):
    assert service.find(3) is None
    assert service.get(3, "ab") == "ababab"
    assert service.get(3, "ab") == "ababab"
    assert service.find(3) == "ababab"
    assert made == [3]


def test_made_anew_it_takes_the_place_of_the_old_one(service, made):
    service.get(2, "ab")
    assert service.make(2, "cde") == "cdecde"
    assert service.find(2) == "cdecde"
    assert made == [2, 2]


def test_who_asks_is_told_how_far_it_is(service):
    steps = []
    service.get(2, "ab", Callbacks(lambda what, share: steps.append((what, share)), steps.append))
    assert steps == [("repeating", 0.5)]


def test_what_cannot_be_made_is_not_stored_and_asked_again(service, made):
    for _ in range(2):
        with pytest.raises(InputError, match="0 came"):
            service.get(0, "ab")
    assert service.find(0) is None
    assert made == [0, 0]


def test_a_result_larger_than_the_store_is_made_each_time(service, made):
    assert service.get(7, "ab") == "ab" * 7
    assert service.find(7) is None
    service.get(7, "ab")
    assert made == [7, 7]


def test_streamlit_s_caches_are_used_in_services_only():
    users = {
        path.relative_to(APP).parts[0]
        for path in APP.rglob("*.py")
        if "st.cache_" in path.read_text(encoding="utf-8")
    }
    assert users == {"services"}
