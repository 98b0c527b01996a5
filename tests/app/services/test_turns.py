"""Turns: first come, first served; who waits is told; who leaves holds up nobody."""

import threading

import pytest

from app.services.turns import Turns

LONG = 10.0  # seconds; no test waits that long unless it fails


class Visitor(threading.Thread):
    """Takes a turn in a thread of its own and holds it until told to go."""

    def __init__(self, turns, served, on_wait=None):
        super().__init__(daemon=True)
        self.turns, self.served, self.on_wait = turns, served, on_wait or (lambda ahead: None)
        self.told, self.go, self.waits, self.inside = [], *(threading.Event() for _ in range(3))
        self.left = None

    def run(self):
        try:
            with self.turns.turn(self.tell):
                self.served.append(self)
                self.inside.set()
                self.go.wait(LONG)
        except RuntimeError as error:
            self.left = error

    def tell(self, ahead):
        self.told.append(ahead)
        self.waits.set()
        self.on_wait(ahead)


def queue_of(turns, served, count, **named):
    """Visitors in a known order: each is seen inside or waiting before the next one comes."""
    visitors = []
    for index in range(count):
        visitors.append(Visitor(turns, served, **(named if index else {})))
        visitors[-1].start()
        seen = visitors[-1].waits if index else visitors[-1].inside
        assert seen.wait(LONG)
    return visitors


def end(visitors):
    for visitor in visitors:
        visitor.go.set()
    for visitor in visitors:
        visitor.join(LONG)
        assert not visitor.is_alive()


def test_a_turn_is_free_at_once_where_nobody_waits():
    told = []
    with Turns().turn(told.append):
        pass
    assert told == []


def test_turns_are_first_come_first_served_and_one_at_a_time():
    turns, served = Turns(), []
    visitors = queue_of(turns, served, 5)
    for index, visitor in enumerate(visitors):
        assert visitor.inside.wait(LONG)
        assert served == visitors[: index + 1]
        visitor.go.set()
    end(visitors)


def test_who_waits_is_told_how_many_are_before_it():
    turns, served = Turns(), []
    visitors = queue_of(turns, served, 3)
    assert visitors[0].told == []
    assert set(visitors[1].told) == {1}
    assert visitors[2].told[0] == 2
    end(visitors)
    assert sorted(visitors[2].told, reverse=True) == visitors[2].told


def test_who_fails_inside_its_turn_lets_the_next_one_in():
    turns = Turns()
    with pytest.raises(RuntimeError, match="broken"), turns.turn(lambda ahead: None):
        raise RuntimeError("broken")
    with turns.turn(lambda ahead: pytest.fail("nobody is before this one")):
        pass


def test_who_leaves_while_it_waits_holds_up_nobody():
    def cancel(ahead):
        raise RuntimeError("cancelled")

    turns, served = Turns(), []
    first, leaver = queue_of(turns, served, 2, on_wait=cancel)
    leaver.join(LONG)
    assert str(leaver.left) == "cancelled"
    last = Visitor(turns, served)
    last.start()
    assert last.waits.wait(LONG)
    assert set(last.told) == {1}
    end([first, last])
    assert served == [first, last]
