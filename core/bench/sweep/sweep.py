"""Sweep: a plan measured in a child process, results as they come, an end at any time.

sweep = Sweep(plan)            # refuses what would not fit
for message in sweep: ...      # starts the child
sweep.cancel()                 # from any thread: ends it at once, `results` stay

The q, k and v of a model lie in a temporary file only until the child has read them.
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import IO

from core.bench.sweep.estimate import require_fit
from core.bench.sweep.inputs import write
from core.bench.sweep.messages import Finished, Message, Progress, from_line
from core.bench.sweep.plan import Plan
from core.bench.sweep.saved import Results, save
from core.capture.trace import AttentionCall
from core.errors import InputError

ROOT = Path(__file__).resolve().parents[3]
CHILD = ("-m", "core.bench.sweep.child")
WORDS = 300  # characters that are shown of what a child said last


class Sweep:
    """One run of a plan. Iterate over it once; `results` hold what has come so far."""

    def __init__(
        self, plan: Plan, out: Path | None = None, model_call: AttentionCall | None = None
    ) -> None:
        """Nothing runs yet.

        Args:
            plan: what is measured.
            out: a file that is written anew after every result.
            model_call: the call with q, k and v that the plan is about; None where they are random.

        Raises:
            InputError: if the plan cannot be measured here, or not within its time.
        """
        self.estimate = require_fit(plan)
        self.plan, self.out, self.model_call = plan, out, model_call
        self.messages: list[Message] = []
        self.cancelled = False
        self._child: subprocess.Popen | None = None
        self._lock = threading.Lock()

    @property
    def results(self) -> Results:
        """What has come so far."""
        finished = any(isinstance(message, Finished) for message in self.messages)
        return Results(self.plan, tuple(self.messages), finished)

    def __iter__(self) -> Iterator[Message]:
        """Results as they come; ends early, without an error, when cancelled.

        Leaving the loop ends the child too.

        Raises:
            InputError: if the child dies, with its last words.
        """
        with tempfile.TemporaryFile() as errors, tempfile.TemporaryDirectory() as folder:
            try:
                child = self._started(errors, Path(folder))
                if child is None:
                    return
                for line in child.stdout:
                    if not line.endswith("\n"):  # cut off in the middle
                        break
                    yield self._kept(from_line(line))
                child.wait()
                if not (self.cancelled or self.results.finished):
                    raise InputError(died(child.returncode, errors))
            finally:
                self._end()

    def cancel(self) -> None:
        """End the child at once, from any thread; before the start, it then never starts."""
        with self._lock:
            self.cancelled = True
            if self._child is not None:
                kill(self._child)

    def _started(self, errors: IO[bytes], folder: Path) -> subprocess.Popen | None:
        with self._lock:
            if self.cancelled:
                return None
            if self._child is not None:
                raise ValueError("a sweep that has not run was wanted; this one has")
            command = [sys.executable, *CHILD, json.dumps(asdict(self.plan))]
            if self.model_call is not None:
                command.append(str(folder / "model_call.safetensors"))
                write(self.model_call, Path(command[-1]))
            self._child = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors,
                cwd=ROOT, start_new_session=True, encoding="utf-8",
            )  # fmt: skip
            return self._child

    def _kept(self, message: Message) -> Message:
        self.messages.append(message)
        if self.out is not None and not isinstance(message, Progress):
            save(self.out, self.results)
        return message

    def _end(self) -> None:
        with self._lock:
            if self._child is None:
                return
            kill(self._child)
            self._child.wait()
            for pipe in (self._child.stdin, self._child.stdout):
                pipe.close()


def kill(child: subprocess.Popen) -> None:
    """End a child and all that it started."""
    if not hasattr(os, "killpg"):  # Windows has no process groups
        child.kill()
        return
    # The child leads a group of its own; its number stays taken while anything in it lives.
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, signal.SIGKILL)


def died(code: int, errors: IO[bytes]) -> str:
    """One sentence on a child that ended too early, with what it said last."""
    how = f"with code {code}"
    if code < 0:
        name = signal.Signals(-code).name
        often = ", often a sign of too little memory" if name == "SIGKILL" else ""
        how = f"by the signal {name}{often}"
    errors.seek(0)
    said = [line for line in errors.read().decode(errors="replace").splitlines() if line.strip()]
    words = f"its last words: {said[-1].strip()[-WORDS:]}" if said else "it said nothing"
    return f"The process that measures ended too early, {how}; {words}"
