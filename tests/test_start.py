"""The app starts, by the command that a person types and by the one in the Dockerfile."""

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
from contextlib import contextmanager
from pathlib import Path

import pytest
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.sync.client import connect

ROOT = Path(__file__).resolve().parents[1]
DOCKERFILE = (ROOT / "Dockerfile").read_text(encoding="utf-8")
SECONDS_TO_START = 60


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
            cwd=folder, env={**os.environ, "HF_HUB_OFFLINE": "1"}, start_new_session=True,
            stdin=subprocess.DEVNULL, stdout=output, stderr=output,
        )  # fmt: skip
        try:
            wait_for_health(process, f"127.0.0.1:{port}", log)
            yield f"127.0.0.1:{port}"
        finally:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def wait_for_health(process: subprocess.Popen, address: str, log: Path) -> None:
    end = time.monotonic() + SECONDS_TO_START
    while time.monotonic() < end and process.poll() is None:
        try:
            with urllib.request.urlopen(f"http://{address}/_stcore/health", timeout=5) as answer:
                assert answer.read() == b"ok"
                return
        except (urllib.error.URLError, TimeoutError):
            time.sleep(0.2)
    pytest.fail(f"the app did not answer: {log.read_text(errors='replace')}")


def titles_of_pages(address: str) -> list[str]:
    """What a browser hears first; Streamlit runs the script only when one connects."""
    asked = BackMsg()
    asked.rerun_script.query_string = ""
    with connect(f"ws://{address}/_stcore/stream") as browser:
        browser.send(asked.SerializeToString())
        deadline = time.monotonic() + SECONDS_TO_START
        while True:
            told = ForwardMsg.FromString(browser.recv(timeout=deadline - time.monotonic()))
            failure = told.delta.new_element.exception
            assert not failure.type, f"{failure.type}: {failure.message}"
            assert told.WhichOneof("type") != "script_finished"
            if told.WhichOneof("type") == "navigation":
                return [page.page_name for page in told.navigation.app_pages]


def test_plain_streamlit_command_starts_the_app(tmp_path):
    script = str(Path(sys.executable).with_name("streamlit"))
    with started([script, "run", "app/main.py"], ROOT, tmp_path / "log") as address:
        assert titles_of_pages(address)[:2] == ["Text", "Image"]


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
        assert titles_of_pages(address)[:2] == ["Text", "Image"]
        check = docker_command(r"HEALTHCHECK .+\\\n +CMD")
        check[2] = check[2].replace("127.0.0.1:8501", address)
        assert address in check[2]
        assert subprocess.run(check).returncode == 0
