"""Growing tables: a CSV of one row a file, written row by row and continued after a stop.

The settings stand in columns of every row, not in lines before them: a spreadsheet then filters and
sorts, pandas reads the file without options, and tables of several runs can be put together.
"""

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from core.errors import InputError
from core.picture.files.csv_cells import guarded, unguarded

ERROR = "error"  # the column that says why a file has no result


@dataclass(frozen=True)
class Table:
    """A table whose first column is a file's name."""

    path: Path
    results: tuple[str, ...]  # names of the columns between the file's name and the error
    settings: Mapping[str, str]  # the last columns, alike in every row

    @property
    def header(self) -> list[str]:
        """The names of all columns."""
        return ["file", *self.results, ERROR, *self.settings]

    def row(self, name: str, results: Sequence[object], error: str = "") -> list[object]:
        """One row; a bad file has no results. No text of it is a formula to a spreadsheet."""
        cells = results or [""] * len(self.results)
        row = [name, *cells, error, *self.settings.values()]
        return [guarded(cell) if isinstance(cell, str) else cell for cell in row]

    def begin(self) -> set[str]:
        """Make the file ready for more rows: the names that are done.

        A row that was cut off when the writing stopped is dropped, and so are bad files, which are
        tried again.

        Raises:
            InputError: if there is another file, or one with other settings.
        """
        rows = [row for row in self.rows() if self._is_done(row)]
        self.write(rows)
        return {unguarded(row[0]) for row in rows}

    def rows(self) -> list[list[str]]:
        """The whole rows that are in the file; none if it is empty or not there.

        Raises:
            InputError: if it cannot be read, or is not a table of these columns; if it is one of
                other settings, these are named.
        """
        with _explained(self.path, "read"):
            data = self.path.read_bytes() if self.path.exists() else b""
        if not data:
            return []
        # What comes after the last line's end was cut off in the middle.
        text = data[: data.rfind(b"\n") + 1].decode("utf-8-sig", errors="replace")
        lines = csv.reader(io.StringIO(text, newline=""))
        try:
            header = next(lines, [])
            if header == self.header:
                return [row for row in lines if len(row) == len(self.header)]
            # Few labels have fewer columns: what is another then is the labels, not the kind.
            if header[:1] == ["file"] and header[-len(self.settings) :] == [*self.settings]:
                self._check_settings(next(lines, []))
        except csv.Error as error:
            raise InputError(f"A table was wanted; '{self.path}' is damaged ({error}).") from error
        raise InputError(
            "A new file, or a table with the same columns, was wanted; "
            f"'{self.path}' is another one: choose another name."
        )

    def write(self, rows: Iterable[Sequence[object]]) -> None:
        """Write the whole file anew; until that is done, the old one stays.

        Raises:
            InputError: if it cannot be written.
        """
        fresh = self.path.with_name(f"{self.path.name}.part")
        with _explained(self.path, "written"):
            try:
                # The mark lets spreadsheets see the encoding.
                with fresh.open("w", encoding="utf-8-sig", newline="") as file:
                    csv.writer(file).writerows([self.header, *rows])
                fresh.replace(self.path)
            finally:
                fresh.unlink(missing_ok=True)

    def add(self, rows: Iterable[Sequence[object]]) -> None:
        """Put rows at the end of the file, and the file on the disk.

        Raises:
            InputError: if it cannot be written.
        """
        with (
            _explained(self.path, "written"),
            self.path.open("a", encoding="utf-8", newline="") as file,
        ):
            csv.writer(file).writerows(rows)

    def _is_done(self, row: list[str]) -> bool:
        """Does the row hold results?

        Raises:
            InputError: if they were made with other settings.
        """
        self._check_settings(row)
        return not row[self.header.index(ERROR)]

    def _check_settings(self, row: list[str]) -> None:
        """Return if a row, whose last columns are the settings, was made with these.

        Raises:
            InputError: if it was made with others.
        """
        written = row[-len(self.settings) :]
        for (name, value), cell in zip(self.settings.items(), written, strict=False):
            if unguarded(cell) != value:
                be = "are" if name.endswith("s") else "is"
                raise InputError(
                    f"The {name} of '{self.path}' {be} '{unguarded(cell)}', and '{value}' came: "
                    "choose another file, or the same settings to go on with this one."
                )


@contextmanager
def _explained(path: Path, what: str) -> Iterator[None]:
    """Turn what the system says about a file into a sentence."""
    try:
        yield
    except OSError as error:
        raise InputError(f"'{path}' cannot be {what}: {error.strerror}.") from error
