"""The app starts, by the command that a person types and by the one in the Dockerfile."""

import http.client
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.sync.client import connect

from app.words import say

pytestmark = pytest.mark.browser

ROOT = Path(__file__).resolve().parents[1]
DOCKERFILE = (ROOT / "Dockerfile").read_text(encoding="utf-8")
SECONDS_TO_START = 60
NAMED = "lab.example.org"
# One thread: the other core is busy with other tests, and two threads would wait for one another.
SETTINGS = {"HF_HUB_OFFLINE": "1", "HEADLIGHT_HOSTS": NAMED, "OMP_NUM_THREADS": "1"}


def docker_command(form: str) -> list[str]:
    """The words after CMD, with this Python for the image's."""
    words = json.loads(re.search(rf"^{form} (\[.*\])$", DOCKERFILE, re.MULTILINE)[1])
    assert words[0] == "python"
    return [sys.executable, *words[1:]]


@contextmanager
def started(command: list[str], folder: Path, log: Path) -> Iterator[str]:
    """The address of the app, started in a folder on a free port of this machine alone."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with log.open("wb") as output:
        process = subprocess.Popen(
            [*command, f"--server.port={port}", "--server.address=127.0.0.1"],
            cwd=folder, env={**os.environ, **SETTINGS},
            start_new_session=True, stdin=subprocess.DEVNULL, stdout=output, stderr=output,
        )  # fmt: skip
        try:
            wait_for_health(process, f"127.0.0.1:{port}")
            yield f"127.0.0.1:{port}"
        finally:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            sys.stdout.write(log.read_text(errors="replace"))  # pytest shows it beside a failure


def wait_for_health(process: subprocess.Popen, address: str) -> None:
    end = time.monotonic() + SECONDS_TO_START
    while time.monotonic() < end and process.poll() is None:
        try:
            with urllib.request.urlopen(f"http://{address}/_stcore/health", timeout=5) as answer:
                assert answer.read() == b"ok"
                return
        except (urllib.error.URLError, TimeoutError):
            time.sleep(0.2)
    pytest.fail(f"the app did not answer within {SECONDS_TO_START} s, or ended")


def first_heading(address: str) -> str:
    """What a browser is told to show; Streamlit runs the script only when one connects.

    The heading comes from the page, so by then the whole of the entry file has run.
    """
    asked = BackMsg()
    asked.rerun_script.query_string = ""
    with connect(f"ws://{address}/_stcore/stream") as browser:
        browser.send(asked.SerializeToString())
        deadline = time.monotonic() + SECONDS_TO_START
        while True:
            told = ForwardMsg.FromString(browser.recv(timeout=deadline - time.monotonic()))
            assert told.WhichOneof("type") != "script_finished"
            element = told.delta.new_element
            assert not element.HasField("exception"), element.exception
            if element.HasField("heading"):
                return element.heading.body


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    script = str(Path(sys.executable).with_name("streamlit"))
    command = [script, "run", "app/server.py"]
    with started(command, ROOT, tmp_path_factory.mktemp("hosts") / "log") as address:
        yield address


def test_plain_streamlit_command_starts_the_app(running):
    assert first_heading(running) == say("text_title")


@pytest.mark.parametrize("path", ["/", "/_stcore/health", "/_stcore/host-config"])
@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("evil.test", 400),
        ("127.0.0.1", 200),
        ("localhost", 200),
        ("[::1]", 200),
        (NAMED, 200),
        ("127.0.0.1.evil.test", 400),
    ],
)  # fmt: skip
def test_other_names_are_not_answered(running, host, status, path):
    """DNS rebinding: a page elsewhere gives its own name as the host."""
    name, _, port = running.partition(":")
    connection = http.client.HTTPConnection(name, int(port), timeout=10)
    with closing(connection):
        connection.request("GET", path, headers={"Host": f"{host}:{port}"})
        assert connection.getresponse().status == status


@pytest.mark.parametrize(
    ("host", "origin", "status"),
    [
        ("evil.test", "evil.test", 400),
        ("evil.test", "127.0.0.1", 400),
        ("127.0.0.1", "evil.test", 403),
        ("localhost", NAMED, 403),
        ("127.0.0.1", "127.0.0.1", 101),
        ("localhost", "localhost", 101),
        ("[::1]", "[::1]", 101),
        (NAMED, NAMED, 101),
    ],
)
def test_a_socket_opens_for_the_apps_own_pages_only(running, host, origin, status):
    """By hand: a client adds a second Host to one that is given, which any server refuses."""
    name, _, port = running.partition(":")
    lines = [
        "GET /_stcore/stream HTTP/1.1",
        f"Host: {host}:{port}",
        f"Origin: http://{origin}:{port}",
        "Upgrade: websocket",
        "Connection: Upgrade",
        "Sec-WebSocket-Version: 13",
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",  # RFC 6455, section 1.3
    ]
    with socket.create_connection((name, int(port)), timeout=10) as browser:
        browser.sendall("\r\n".join([*lines, "", ""]).encode())
        assert browser.recv(64).startswith(f"HTTP/1.1 {status} ".encode())


def test_container_holds_all_that_the_app_needs(tmp_path):
    """The Dockerfile's own commands, run beside nothing but the files that it copies."""
    copied = re.findall(r"^COPY (?!--from)(\S+) ", DOCKERFILE, re.MULTILINE)
    for path in set(copied):
        source, target = ROOT / path, tmp_path / "image" / path
        if source.is_dir():
            shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            target.parent.mkdir(exist_ok=True)
            shutil.copyfile(source, target)
    with started(docker_command("CMD"), tmp_path / "image", tmp_path / "log") as address:
        assert first_heading(address) == say("text_title")
        check = docker_command(r"HEALTHCHECK .+\\\n +CMD")
        check[2] = check[2].replace("127.0.0.1:8501", address)
        assert address in check[2]
        assert subprocess.run(check).returncode == 0
