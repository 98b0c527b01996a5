"""What a click costs: bytes on the wire, time until the picture stands, load, and memory.

    python scripts/wire.py [--root ROOT] [--parts browser,visitors,memory] [--visitors 20]

One line a figure, on stdout. Each part starts an app of its own.

browser   A Chromium clicks other heads of the mosaic, for a short text and one of 512 tokens. Bytes
          are counted twice: as the page sees each message, before compression, and on the
          connection through a proxy that counts, as they travel (websocket frames and all). Paint:
          from the click event's own time stamp until a frame in which the pixels of the large map
          differ, looked at in each frame, so up to one frame (17 ms) late.
visitors  Without a browser: connections that send what a browser was seen to send (for opening the
          page, then for other heads), and wait until the head has come and the script has ended.
memory    Resident memory of the server after 50 and after 500 visits, each of which opens a
          session, runs the first page and closes.
"""

import argparse
import re
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

import click_watch
import psutil
import session_client
from click_watch import CountingProxy, Place
from playwright.sync_api import Browser, expect
from playwright.sync_api import Error as BrowserError
from running_app import PATIENCE, App, MissingError, Visit, chromium, idle, started, visiting
from websockets.exceptions import WebSocketException

LONG_TEXT = "a quiet river ran on and on " * 90  # more than the 512 tokens that minilm reads
TEXTS = (None, LONG_TEXT)  # None: the text that the page opens with
WEIGHED, TIMED, ALONE = 10, 60, 40  # clicks: counted in bytes, timed to the paint, of one visitor
THINK, THINK_ALONE = (0.5, 1.5), (0.2, 0.4)  # seconds between an answer and the next click
VISITS = (1, 50, 500)
LONGEST = 90.0  # seconds that a crowd may click
FAILURES = (MissingError, BrowserError, AssertionError, WebSocketException, OSError)


def tell(what: str, figure: str) -> None:
    """One figure, at once: a part takes minutes."""
    sys.stdout.write(f"{what}: {figure}\n")
    sys.stdout.flush()


def spread(values: Sequence[float], unit: str = "ms") -> str:
    """Median and 95th percentile."""
    if len(values) < 2:
        raise MissingError("too few clicks were answered")
    high = statistics.quantiles(values, n=20, method="inclusive")[-1]
    median = statistics.median(values)
    return f"median {median:,.0f} {unit}, 95 % {high:,.0f} {unit} ({len(values)} clicks)"


def open_text(visit: Visit, text: str | None) -> str:
    """Open the page with a text; how many tokens the page says that it has."""
    visit.settled()
    if text is not None:
        visit.type_text(text)
        expect(visit.page.get_by_text("512 tokens ·")).to_be_visible(timeout=PATIENCE)
        visit.settled()
    line = visit.page.get_by_text(re.compile(r"[\d,]+ tokens ·")).first.inner_text()
    return re.search(r"[\d,]+ tokens", line)[0]


def browser_part(root: Path, _: argparse.Namespace) -> None:
    """Bytes and time of a click, in a real browser."""
    with started(root) as app, chromium() as browser:
        for text in TEXTS:
            with visiting(browser, app.address) as visit:
                name = f"browser, {open_text(visit, text)}"
                places = click_watch.places(visit)
                idle(app.process)
                paint(name, visit, places)
            weigh(name, browser, app, text, places)


def paint(name: str, visit: Visit, places: list[Place]) -> None:
    """How long a click takes to be seen."""
    visit.quiet()
    click_watch.watch(visit.page)
    seen = [click_watch.painted(visit, place) for place in session_client.walk(places, TIMED)]
    tell(f"{name}, click to first change of the picture", spread([each.first for each in seen]))
    tell(f"{name}, click to last change of the picture", spread([each.last for each in seen]))
    tell(f"{name}, click to its heading", spread([each.told for each in seen]))


def weigh(name: str, browser: Browser, app: App, text: str | None, places: list[Place]) -> None:
    """How many bytes a click moves, unpacked and as they travel."""
    proxy = CountingProxy(app.address)
    unpacked, packed, sent = [], [], []
    with visiting(browser, proxy.address) as visit:
        open_text(visit, text)
        for place in session_client.walk(places, WEIGHED):
            visit.quiet()
            visit.received.clear()
            visit.sent.clear()
            before = proxy.received
            click_watch.choose(visit, place)
            visit.quiet()
            unpacked.append(sum(visit.received))
            packed.append(proxy.received - before)
            sent.append(sum(len(message) for message in visit.sent))
    proxy.close()
    tell(f"{name}, received for a new head before compression", spread(unpacked, "bytes"))
    tell(f"{name}, received for a new head as it travels", spread(packed, "bytes"))
    tell(f"{name}, sent for a new head before compression", spread(sent, "bytes"))


class Seen(NamedTuple):
    """What a browser was seen to send: for opening the page, and for each head."""

    name: str
    opening: tuple[bytes, ...]
    places: list[Place]


def listen_in(browser: Browser, address: str, text: str | None) -> Seen:
    """Learn from a browser what a visitor sends."""
    with visiting(browser, address) as visit:
        name = open_text(visit, text)
        opening = click_watch.reruns(visit.sent)
        return Seen(name, opening, click_watch.places(visit))


def crowd(app: App, seen: Seen, visitors: int, clicks: int, think: tuple[float, float]) -> None:
    """Several visitors at once, and what they waited; `clicks` of each."""
    name = f"visitors, {seen.name}, {visitors} at once"
    with ExitStack() as sessions:
        connections = [
            sessions.enter_context(session_client.connected(app.address)) for _ in range(visitors)
        ]
        for connection in connections:
            session_client.lead(connection, seen.opening)
        if not idle(app.process):
            sys.stderr.write(f"{name}: the server did not come to rest before the clicks\n")
        start, before = time.monotonic(), sum(app.process.cpu_times()[:2])
        with ThreadPoolExecutor(visitors) as pool:
            how = (seen.places, clicks, think, start + LONGEST)
            going = [
                pool.submit(session_client.click_about, connection, *how)
                for connection in connections
            ]
            times = [time for each in going for time in each.result()]
        took, worked = time.monotonic() - start, sum(app.process.cpu_times()[:2]) - before
    answers = [time for time in times if time < float("inf")]
    tell(f"{name}, click to end of script", spread(answers))
    tell(f"{name}, clicks a second, all together", f"{len(answers) / took:.1f}")
    tell(f"{name}, processor time of the server", f"{1000 * worked / len(answers):.0f} ms a click")
    tell(f"{name}, clicks without an answer", str(len(times) - len(answers)))


def visitors_part(root: Path, arguments: argparse.Namespace) -> None:
    """What clicks cost the server, for one visitor and for many."""
    with started(root) as app:
        with chromium() as browser:
            all_seen = [listen_in(browser, app.address, text) for text in TEXTS]
        for seen in all_seen:
            if not all(place.messages for place in seen.places):
                tell(f"visitors, {seen.name}", "a click sends nothing to the server")
                continue
            crowd(app, seen, 1, ALONE, THINK_ALONE)
            each = max(1, arguments.clicks // arguments.visitors)
            crowd(app, seen, arguments.visitors, each, THINK)


def resident(process: psutil.Process) -> float:
    """Megabytes that the server holds once it is at rest."""
    idle(process)
    return process.memory_info().rss / 1e6


def memory_part(root: Path, _: argparse.Namespace) -> None:
    """What visits leave behind."""
    held: dict[int, float] = {}
    with started(root) as app:
        for visit in range(1, max(VISITS) + 1):
            with session_client.connected(app.address) as connection:
                session_client.lead(connection, [session_client.first_page()])
            if visit in VISITS:
                held[visit] = resident(app.process)
                tell(f"memory, resident after {visit} visits", f"{held[visit]:,.0f} MB")
    few, many = VISITS[-2:]
    tell(f"memory, after {many} visits / after {few}", f"{held[many] / held[few]:.3f}")


PARTS: dict[str, Callable[[Path, argparse.Namespace], None]] = {
    "browser": browser_part,
    "visitors": visitors_part,
    "memory": memory_part,
}


def read_arguments() -> argparse.Namespace:
    """Which parts, of which checkout, with how many visitors."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "--root", type=Path, default=Path(__file__).resolve().parents[1], help="checkout to start"
    )
    parser.add_argument("--parts", default=",".join(PARTS), help="some of them, by comma")
    parser.add_argument("--visitors", type=int, default=20, help="how many click at once")
    parser.add_argument("--clicks", type=int, default=300, help="of all visitors together, a text")
    arguments = parser.parse_args()
    arguments.parts = arguments.parts.split(",")
    if unknown := set(arguments.parts) - set(PARTS):
        parser.error(f"no such part: {', '.join(sorted(unknown))}")
    return arguments


def main() -> int:
    """Measure the chosen parts one after the other; one that fails does not end the others."""
    arguments, code = read_arguments(), 0
    for part in arguments.parts:
        try:
            PARTS[part](arguments.root, arguments)
        except FAILURES as error:
            sys.stderr.write(f"{part}: FAILED: {' '.join(str(error).split())[:300]}\n")
            code = 1
    return code


if __name__ == "__main__":
    sys.exit(main())
