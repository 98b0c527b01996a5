"""The app as a visitor meets it: started on a free port, opened in a Chromium, waited for.

What the scripts beside this file share. Nothing here knows more of the app than how it is started
and what a visitor reads on its pages.
"""

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

import psutil
from playwright.sync_api import (
    Browser,
    ConsoleMessage,
    Page,
    Request,
    WebSocket,
    expect,
    sync_playwright,
)
from playwright.sync_api import Error as BrowserError

HOST = "127.0.0.1"
SECONDS_TO_START = 120
PATIENCE = 180_000  # milliseconds: a model may load first, and the lab measures for a minute
MEASURED = "verified"  # the last word of the line under a page's title, which comes last of all
QUIET = 1_000  # milliseconds without a word from the server
# Streamlit's page asks for these below its own path first, is told 404, and asks at the root.
ASKED_TWICE = ("/_stcore/health", "/_stcore/host-config")
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


class App(NamedTuple):
    """A running app: where it listens, and its process."""

    address: str
    process: psutil.Process


class MissingError(Exception):
    """Something that was asked for did not come; the text says what."""


@contextmanager
def started(root: Path) -> Iterator[App]:
    """The app of a checkout, on a free port of this machine alone, with no model hub."""
    with socket.socket() as free:
        free.bind((HOST, 0))
        address = f"{HOST}:{free.getsockname()[1]}"
    command = [sys.executable, "-m", "streamlit", "run", "app/server.py"]
    command += [f"--server.port={address.partition(':')[2]}", f"--server.address={HOST}"]
    environment = {**os.environ, "HF_HUB_OFFLINE": "1"}
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that the app is ended then too
    with tempfile.TemporaryFile() as log:
        process = psutil.Popen(
            command, cwd=root, env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log
        )
        try:
            if not healthy(process, address):
                log.seek(0)
                raise MissingError(f"the app did not start: {log.read().decode(errors='replace')}")
            yield App(address, process)
        finally:
            end(process)


def healthy(process: psutil.Popen, address: str) -> bool:
    """Wait until the app answers; False if it ends or takes too long."""
    deadline = time.monotonic() + SECONDS_TO_START
    while time.monotonic() < deadline and process.poll() is None:
        try:
            with urllib.request.urlopen(f"http://{address}/_stcore/health", timeout=5):
                return True
        except (urllib.error.URLError, TimeoutError):
            time.sleep(0.2)
    return False


def end(process: psutil.Popen) -> None:
    """End the app and whatever it has started to measure."""
    try:
        family = [process, *process.children(recursive=True)]
    except psutil.NoSuchProcess:
        return
    for member in family:
        try:
            member.kill()
        except psutil.NoSuchProcess:
            continue
    process.wait()


def idle(process: psutil.Process, seconds: float = 60.0) -> bool:
    """Wait until the app has nothing more to do: less than a tenth of a core in each of 2 s."""
    deadline, calm = time.monotonic() + seconds, 0
    while calm < 2 and time.monotonic() < deadline:
        calm = calm + 1 if process.cpu_percent(interval=1.0) < 10 else 0
    return calm == 2


@contextmanager
def chromium() -> Iterator[Browser]:
    """The Chromium that is on the PATH, without a window."""
    path = shutil.which("chromium")
    if path is None:
        raise MissingError("no 'chromium' is on the PATH")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=ARGUMENTS)
        yield browser
        browser.close()


class Visit:
    """One visitor's page, what it exchanges with the server, and what goes wrong on it."""

    def __init__(self, page: Page) -> None:
        """Listen from the start, before the page is opened."""
        self.page = page
        self.received: list[int] = []  # bytes of each message, as the page sees it: unpacked
        self.sent: list[bytes] = []
        self.troubles: list[str] = []
        page.on("pageerror", lambda error: self.troubles.append(f"page error: {error}"))
        page.on("console", self._note_line)
        page.on("request", self._note_host)
        page.on("websocket", self._listen)

    def _note_line(self, line: ConsoleMessage) -> None:
        where = line.location.get("url", "")
        if line.type == "error" and not where.endswith(ASKED_TWICE):
            self.troubles.append(f"console error: {line.text} ({where})")

    def _note_host(self, request: Request) -> None:
        if urlsplit(request.url).hostname not in (None, HOST):  # data: and blob: have none
            self.troubles.append(f"asked another host: {request.url}")

    def _listen(self, connection: WebSocket) -> None:
        connection.on("framereceived", lambda frame: self.received.append(len(frame)))
        connection.on("framesent", lambda frame: self.sent.append(bytes(frame)))

    def settled(self, sign: str = MEASURED) -> None:
        """Wait until a sign of the end can be read and nothing more comes."""
        expect(self.page.get_by_text(sign).first).to_be_visible(timeout=PATIENCE)
        self.quiet()

    def quiet(self) -> None:
        """Wait until no script runs and nothing has come from the server for a second."""
        heard, deadline = -1, time.monotonic() + PATIENCE / 1000
        while heard != len(self.received):
            if time.monotonic() > deadline:
                raise MissingError("the page found no rest")
            heard = len(self.received)
            expect(self.page.get_by_test_id("stStatusWidget")).to_have_count(0, timeout=PATIENCE)
            self.page.wait_for_timeout(QUIET)

    def run(self) -> None:
        """Press Run."""
        self.page.get_by_role("button", name="Run", exact=True).click()

    def type_text(self, text: str) -> None:
        """Type into the field of the Text page, and press Run."""
        self.page.get_by_role("textbox", name="Your sentences").fill(text)
        self.run()


@contextmanager
def visiting(
    browser: Browser, address: str, path: str = "", size: tuple[int, int] = (1280, 900),
    scheme: str = "light",
) -> Iterator[Visit]:  # fmt: skip
    """A page of the app in a browser of its own, opened but not waited for."""
    viewport = {"width": size[0], "height": size[1]}
    page = browser.new_page(viewport=viewport, color_scheme=scheme)
    try:
        visit = Visit(page)
        page.goto(f"http://{address}/{path}")
        yield visit
    finally:
        try:
            page.close()
        except BrowserError as error:
            sys.stderr.write(f"a page did not close: {error}\n")
