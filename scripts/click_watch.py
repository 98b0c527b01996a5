"""Clicks on the mosaic of all heads: where to click, what is sent, what is painted and when."""

import re
import socket
import threading
from typing import Any, NamedTuple

from playwright.sync_api import Page, expect
from running_app import HOST, PATIENCE, MissingError, Visit
from streamlit.proto.BackMsg_pb2 import BackMsg  # noqa: TID251 this is no part of core/

ACROSS = (0.12, 0.28, 0.44, 0.6, 0.76, 0.92)  # shares of the mosaic's width and height
DOWN = (0.2, 0.45, 0.7, 0.93)
FEWEST = 4  # heads without which no random walk can be made
NO_ANSWER = 2_000  # milliseconds after which a place is taken for a gap between two heads
HEADING = re.compile(r"^Layer \d+, head \d+")

# In each frame: have the pixels of the large map changed, and does the heading tell another head?
# A map may be drawn by several canvases, one upon the other: all that lie beside the labelled one.
WATCH = """() => {
    const small = new OffscreenCanvas(64, 64);
    const pen = small.getContext("2d", { willReadFrequently: true });
    const found = (root) => {
        const map = root.querySelector('canvas[aria-label*="Attention map"]');
        if (map) return map;
        for (const node of root.querySelectorAll("*")) {
            const inside = node.shadowRoot && found(node.shadowRoot);
            if (inside) return inside;
        }
        return null;
    };
    let map = null;
    const pixels = () => {
        if (!map?.isConnected) map = found(document);
        let sum = 7;
        for (const canvas of map?.parentElement.querySelectorAll("canvas") ?? []) {
            if (!canvas.width || !canvas.height) continue;
            pen.clearRect(0, 0, 64, 64);
            pen.drawImage(canvas, 0, 0, 64, 64);
            const words = new Uint32Array(pen.getImageData(0, 0, 64, 64).data.buffer);
            for (const word of words) sum = (Math.imul(sum, 31) + word) | 0;
        }
        return sum;
    };
    const heading = () => [...document.querySelectorAll("h1, h2, h3, h4")]
        .map((node) => node.innerText.trim()).find((text) => /^Layer \\d+, head \\d+/.test(text));
    const watched = { clicked: null, first: null, last: null, told: null };
    let [picture, name] = [pixels(), heading()];
    const look = () => {
        const now = performance.now();
        const [nextPicture, nextName] = [pixels(), heading()];
        if (watched.clicked !== null && nextPicture !== picture) {
            watched.first ??= now - watched.clicked;
            watched.last = now - watched.clicked;
        }
        if (watched.clicked !== null && nextName !== name) watched.told = now - watched.clicked;
        [picture, name] = [nextPicture, nextName];
        requestAnimationFrame(look);
    };
    const begin = (event) => {
        Object.assign(watched, { clicked: event.timeStamp, first: null, last: null, told: null });
    };
    window.addEventListener("click", begin, true);
    window.clickWatched = watched;
    window.clickDone = (head) => watched.first !== null && heading()?.startsWith(head)
        && performance.now() - watched.clicked - watched.last > 250;
    requestAnimationFrame(look);
}"""


class Place(NamedTuple):
    """A place of the mosaic, the head that it chooses, and what the browser sends for it."""

    head: str  # as the heading says it
    across: float
    down: float
    messages: tuple[bytes, ...]


class Painted(NamedTuple):
    """Milliseconds from a click to what it changed on the screen."""

    first: float  # the map's pixels change
    last: float  # and change for the last time
    told: float  # the heading names the head


def reruns(messages: list[bytes]) -> tuple[bytes, ...]:
    """Messages that ask for a run of the script, without those that a timer sends by itself."""
    parsed = [(message, BackMsg.FromString(message)) for message in messages]
    return tuple(
        message
        for message, asked in parsed
        if asked.HasField("rerun_script") and not asked.rerun_script.is_auto_rerun
    )


def heading(page: Page) -> str:
    """The head that is shown large."""
    found = page.get_by_role("heading", name=HEADING).first.inner_text()
    return HEADING.search(found.strip())[0]


def click(visit: Visit, across: float, down: float) -> None:
    """Click the mosaic at a share of its width and height."""
    mosaic = visit.page.locator('canvas[aria-label*="All heads"]').first
    mosaic.scroll_into_view_if_needed()
    box = mosaic.bounding_box()
    mosaic.click(position={"x": box["width"] * across, "y": box["height"] * down})


def places(visit: Visit) -> list[Place]:
    """Heads that can be clicked, found by clicking about."""
    found: dict[str, Place] = {}
    for down in DOWN:
        for across in ACROSS:
            before, sent = heading(visit.page), len(visit.sent)
            click(visit, across, down)
            waited = 0
            while heading(visit.page) == before and waited < NO_ANSWER:
                visit.page.wait_for_timeout(50)
                waited += 50
            visit.page.wait_for_timeout(300)
            now, messages = heading(visit.page), reruns(visit.sent[sent:])
            if now != before:
                found.setdefault(now, Place(now, across, down, messages))
    if len(found) < FEWEST:
        raise MissingError(f"only {len(found)} heads of the mosaic answered")
    return list(found.values())


def choose(visit: Visit, place: Place) -> None:
    """Click a head and wait until its heading stands."""
    click(visit, place.across, place.down)
    expect(visit.page.get_by_role("heading", name=place.head, exact=True)).to_be_visible(
        timeout=PATIENCE
    )


def watch(page: Page) -> None:
    """Begin to look at every frame."""
    page.evaluate(WATCH)


def painted(visit: Visit, place: Place) -> Painted:
    """Click a head, and when it was painted."""
    click(visit, place.across, place.down)
    visit.page.wait_for_function(
        "(head) => window.clickDone(head)", arg=place.head, timeout=PATIENCE
    )
    told: dict[str, Any] = visit.page.evaluate("() => window.clickWatched")
    return Painted(told["first"], told["last"], told["told"])


class CountingProxy:
    """Stands between a browser and the app, and counts the bytes that the app sends."""

    def __init__(self, address: str) -> None:
        """Listen on a free port; each connection is passed on to the app."""
        host, _, port = address.partition(":")
        self.received = 0
        self._app = (host, int(port))
        self._listener = socket.create_server((HOST, 0))
        self.address = f"{HOST}:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                browser, _ = self._listener.accept()
            except OSError:  # closed
                return
            app = socket.create_connection(self._app)
            for ends in ((browser, app, False), (app, browser, True)):
                threading.Thread(target=self._pass, args=ends, daemon=True).start()

    def _pass(self, source: socket.socket, target: socket.socket, counted: bool) -> None:
        try:
            while data := source.recv(65_536):
                self.received += len(data) if counted else 0
                target.sendall(data)
            target.shutdown(socket.SHUT_WR)
        except OSError:  # one end has gone
            target.close()

    def close(self) -> None:
        """Take no more connections."""
        self._listener.close()
