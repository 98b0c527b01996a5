"""The house: which room may import which, read from the imports themselves.

A room is a folder of `core/` or `app/`. Rooms are listed from the ground up; a module imports its
own room and rooms on lower floors, never another one on its own floor or above.
"""

import ast
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]

FLOORS = {
    "core": [
        {"errors", "types"},
        {"attention"},
        {"capture", "layers"},
        {"models"},
        {"maps", "explain"},
        {"picture"},
        {"zero_shot"},
        {"bench"},
        {"cli"},
        {"__main__"},
    ],
    "app": [{"words"}, {"charts", "services"}, {"components"}, {"views"}, {"main"}],
}
FILES_IN_A_FOLDER = 14
MECHANISMS = "core/attention"  # one mechanism a file, as many as there are


def modules(package: str) -> dict[str, Path]:
    """Every module of a package by its dotted name."""
    return {name_of(path): path for path in sorted((ROOT / package).rglob("*.py"))}


def name_of(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports(path: Path, known: dict[str, Path]) -> Iterator[str]:
    """The modules of ours that a file imports, wherever in the file."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in known)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: a relative import hides which room it means"
            for alias in node.names:
                deeper = f"{node.module}.{alias.name}"
                if deeper in known or node.module in known:
                    yield deeper if deeper in known else node.module


def room_of(module: str) -> str:
    return module.split(".")[1] if "." in module else ""


def floor_of(package: str, room: str) -> int:
    floors = [number for number, rooms in enumerate(FLOORS[package]) if room in rooms]
    assert floors, f"{package}/{room} stands on no floor: name it in FLOORS"
    return floors[0]


def arrows(package: str) -> dict[str, set[str]]:
    """What each module of a package imports of it."""
    known = modules(package)
    return {name: {*imports(path, known)} - {name} for name, path in known.items()}


def between_folders(package: str) -> dict[str, set[str]]:
    """What the files of each folder import of others.

    The face of a package (its `__init__`) hands on what stands inside, so it counts for no folder.
    Neither do loose files directly in the package (errors, types, main).
    """
    faces = {name for name, path in modules(package).items() if path.name == "__init__.py"}
    folders: dict[str, set[str]] = {}
    for module, others in arrows(package).items():
        if module not in faces:
            here = module.rpartition(".")[0]
            there = {other.rpartition(".")[0] for other in others - faces}
            folders.setdefault(here, set()).update(there - {here, package})
    folders.pop(package, None)
    return folders


def ring(graph: dict[str, set[str]]) -> list[str]:
    """The first ring of a graph, empty where there is none."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return error.args[1]
    return []


@pytest.mark.parametrize("package", FLOORS)
def test_no_arrow_points_up_or_sideways(package):
    known, wrong = modules(package), []
    for module, path in known.items():
        room = room_of(module)
        for other in imports(path, known) if room else ():
            there = room_of(other)
            if there and there != room and floor_of(package, there) >= floor_of(package, room):
                wrong.append(f"{module} -> {other}")
    assert wrong == []


def test_core_imports_nothing_of_the_app():
    known = modules("app")
    assert [name for name, path in modules("core").items() if [*imports(path, known)]] == []


@pytest.mark.parametrize("package", FLOORS)
def test_no_files_import_one_another_in_a_ring(package):
    assert ring(arrows(package)) == []


@pytest.mark.parametrize("package", FLOORS)
def test_no_folders_import_one_another_in_a_ring(package):
    assert ring(between_folders(package)) == []


def test_a_ring_is_found():
    assert ring({"a": {"b"}, "b": {"c"}, "c": {"a"}}) in (
        ["a", "c", "b", "a"], ["b", "a", "c", "b"], ["c", "b", "a", "c"],
    )  # fmt: skip
    assert ring({"a": {"b", "c"}, "b": {"c"}}) == []


@pytest.mark.parametrize("package", FLOORS)
def test_no_folder_holds_too_many_files(package):
    folders = [ROOT / package, *(path for path in (ROOT / package).rglob("*") if path.is_dir())]
    counts = {
        folder.relative_to(ROOT).as_posix(): sum(
            path.is_file() and path.suffix in (".py", ".js", ".css") for path in folder.iterdir()
        )
        for folder in folders
    }
    counts.pop(MECHANISMS, None)
    assert {name: count for name, count in counts.items() if count > FILES_IN_A_FOLDER} == {}


@pytest.mark.parametrize("package", FLOORS)
def test_no_file_lies_beside_a_package_of_its_name(package):
    paths = sorted((ROOT / package).rglob("*.py"))
    assert [path for path in paths if path.with_suffix("").is_dir()] == []
