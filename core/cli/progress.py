"""Progress on a terminal."""

import sys
from collections.abc import Callable


def bar(what: str) -> Callable[[float], None]:
    """A progress line on a terminal; silent where nobody looks."""

    def show(share: float) -> None:
        if sys.stderr.isatty():
            end = "\n" if share >= 1 else ""
            sys.stderr.write(f"\r{what} {100 * share:3.0f} %{end}")
            sys.stderr.flush()

    return show
