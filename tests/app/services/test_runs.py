"""What all visitors share: stores bounded by bytes, and one name for one request."""

import os
import subprocess
import sys
import threading
from dataclasses import fields, replace
from pathlib import Path

import pytest

from app.services.requests import RunRequest
from app.services.store import Store

ROOT = Path(__file__).parents[3]

REQUEST = RunRequest("minilm", ("it was", "too tired"), None, "auto", "float32")


def test_a_store_gives_back_what_was_put():
    store = Store(10, len)
    store.put("a", b"123")
    assert store.get("a") == b"123"
    assert store.get("b") is None


def test_a_store_never_holds_more_than_its_bytes_and_drops_what_was_looked_at_least():
    store = Store(10, len)
    for key in "abc":
        store.put(key, key.encode() * 3)
    store.get("a")
    store.put("d", b"dddd")
    assert [key for key in "abcd" if store.get(key)] == ["a", "c", "d"]


def test_a_value_larger_than_the_store_is_not_kept_and_drives_nothing_out():
    store = Store(10, len)
    store.put("a", b"123")
    store.put("b", b"1" * 11)
    assert store.get("b") is None
    assert store.get("a") == b"123"


def test_a_value_that_became_too_large_does_not_leave_the_old_one_behind():
    store = Store(10, len)
    store.put("a", b"old")
    store.put("a", b"1" * 11)
    assert store.get("a") is None


def test_a_new_value_under_the_same_key_takes_the_place_of_the_old_one():
    store = Store(10, len)
    store.put("a", b"1" * 9)
    store.put("a", b"2" * 10)
    assert store.get("a") == b"2" * 10


def test_several_threads_leave_a_store_whole():
    store, failures = Store(1000, len), []

    def visit(number):
        try:
            for step in range(2000):
                key = (number * step) % 41
                store.put(key, bytes([key]) * (1 + key))
                found = store.get((key + 1) % 41)
                assert found is None or set(found) == {(key + 1) % 41}
        except Exception as error:  # any: a thread's error would be lost
            failures.append(error)

    threads = [threading.Thread(target=visit, args=(number,)) for number in range(1, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert failures == []
    held = [found for key in range(41) if (found := store.get(key))]
    assert sum(map(len, held)) <= 1000


def test_two_who_ask_the_same_share_one_run():
    same = RunRequest("minilm", ("it was", "too tired"), None, "auto", "float32")
    assert same == REQUEST
    assert hash(same) == hash(REQUEST)
    assert same.name == REQUEST.name


OTHER = {
    "model": "smollm2",
    "input": ("it was too tired",),
    "mechanism": "linear",
    "device": "cpu",
    "precision": "bfloat16",
}


@pytest.mark.parametrize("field", [field.name for field in fields(RunRequest)])
def test_a_request_that_differs_in_anything_has_another_name(field):
    other = replace(REQUEST, **{field: OTHER[field]})
    assert other != REQUEST
    assert other.name != REQUEST.name


def test_texts_are_not_run_together_in_the_name():
    inputs = (("ab", "c"), ("a", "bc"), ("abc",), "abc")
    assert len({replace(REQUEST, input=texts).name for texts in inputs}) == 4


def test_a_name_is_short_and_the_same_in_every_process():
    # Another process has another seed for `hash`; the name must not follow it.
    code = f"from app.services.requests import RunRequest\nprint({REQUEST!r}.name)"
    other = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env={**os.environ, "PYTHONHASHSEED": "7"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert other.stdout.strip() == REQUEST.name
    assert len(REQUEST.name) == 16
