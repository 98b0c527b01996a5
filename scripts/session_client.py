"""A visitor without a browser: a connection that speaks as Streamlit's page does."""

import random
import time
from collections.abc import Iterator, Sequence

from click_watch import Place
from streamlit.proto.BackMsg_pb2 import BackMsg  # noqa: TID251 this is no part of core/
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg  # noqa: TID251
from websockets.exceptions import WebSocketException
from websockets.sync.client import ClientConnection, connect

LONGEST = 60.0  # seconds to wait for one answer
ENDED = (
    ForwardMsg.ScriptFinishedStatus.FINISHED_SUCCESSFULLY,
    ForwardMsg.ScriptFinishedStatus.FINISHED_FRAGMENT_RUN_SUCCESSFULLY,
)


def first_page() -> bytes:
    """What a browser sends when it opens the app."""
    asked = BackMsg()
    asked.rerun_script.query_string = ""
    return asked.SerializeToString()


def connected(address: str) -> connect:
    """A session of its own, to be used in a `with`."""
    return connect(f"ws://{address}/_stcore/stream", max_size=None)


def answered(connection: ClientConnection, messages: Sequence[bytes], sign: bytes = b"") -> float:
    """Send, and the seconds until the sign has come and the script has ended after it."""
    start = time.perf_counter()
    for message in messages:
        connection.send(message)
    seen = not sign
    while True:
        left = start + LONGEST - time.perf_counter()
        answer = connection.recv(timeout=max(0.0, left))
        seen = seen or sign in answer
        told = ForwardMsg.FromString(answer)
        if seen and told.WhichOneof("type") == "script_finished" and told.script_finished in ENDED:
            return time.perf_counter() - start


def lead(connection: ClientConnection, opening: Sequence[bytes]) -> None:
    """Lead a session to where its clicks begin, one message after the other."""
    for message in opening:
        answered(connection, [message])


def walk(places: Sequence[Place], length: int) -> Iterator[Place]:
    """A random walk that never stays where it is; it begins anywhere but at the last place."""
    now = places[-1]
    for _ in range(length):
        now = random.choice([place for place in places if place is not now])
        yield now


def click_about(
    connection: ClientConnection,
    places: Sequence[Place],
    clicks: int,
    think: tuple[float, float],
    until: float,
) -> list[float]:
    """Milliseconds of each click of one visitor who thinks in between; infinite without answer.

    It ends early at `until`, by the monotonic clock.
    """
    times: list[float] = []
    for place in walk(places, clicks):
        time.sleep(random.uniform(*think))
        if time.monotonic() > until:
            break
        try:
            times.append(1000 * answered(connection, place.messages, place.head.encode()))
        except (TimeoutError, WebSocketException):
            times.append(float("inf"))
            break
    return times
