"""The repository itself: what its papers name exists, its code keeps its size."""

import ast
import importlib.util
import os
import re
import shlex
import subprocess
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from core.__main__ import parser

ROOT = Path(__file__).resolve().parents[1]
PAPERS = ("README.md", "CONTRIBUTING.md", "Makefile", "Dockerfile")
WRITTEN = ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md")
LINES_IN_A_FILE = 250
LINES_IN_A_FUNCTION = 50

# The package that a module comes from, where the two have different names.
PACKAGES = {"PIL": "pillow", "skimage": "scikit-image", "open_clip": "open_clip_torch"}
PACKAGES |= {"pillow_heif": "pillow-heif", "markdown_it": "markdown-it-py"}
# Used where it is installed, and explained where it is not: it needs a CUDA compiler.
OPTIONAL = {"flash_attn"}


def sources(*folders: str, pattern: str = "*.py") -> list[Path]:
    found = sorted(path for folder in folders for path in (ROOT / folder).rglob(pattern))
    assert found, folders
    return found


def relative(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def imported(path: Path) -> set[str]:
    """Top-level names of everything that a file imports."""
    modules = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            modules |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            modules.add(node.module)
    return {module.split(".")[0] for module in modules}


def undeclared(path: Path, *files: str) -> set[str]:
    """Packages that a file imports and no requirements file names."""
    modules = imported(path) - set(sys.stdlib_module_names) - {"core", "app", "tests"} - OPTIONAL
    return {PACKAGES.get(module, module) for module in modules}.difference(*map(declared, files))


def declared(file: str) -> set[str]:
    lines = (ROOT / file).read_text(encoding="utf-8").splitlines()
    return {match[0] for line in lines if (match := re.match(r"[A-Za-z][\w-]*", line))}


def text_of(paper: str) -> str:
    return (ROOT / paper).read_text(encoding="utf-8")


def commands(paper: str) -> list[str]:
    """Command lines of a paper: Markdown's code blocks, or all lines of the others."""
    text = text_of(paper)
    if paper.endswith(".md"):
        text = "\n".join(re.findall(r"```\w*\n(.*?)```", text, re.DOTALL))
    return text.replace("\\\n", " ").splitlines()


def code_lines(path: Path) -> set[int]:
    """Lines that hold more than a comment."""
    silent = {
        tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT,
        tokenize.ENDMARKER,
    }  # fmt: skip
    with path.open("rb") as file:
        tokens = [token for token in tokenize.tokenize(file.readline) if token.type not in silent]
    return {line for token in tokens for line in range(token.start[0], token.end[0] + 1)}


def function_sizes(path: Path) -> Iterator[tuple[str, int]]:
    """Name and code lines of every function, docstrings left out."""
    tree, code = ast.parse(path.read_text(encoding="utf-8")), code_lines(path)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            lines = set(range(node.lineno, node.end_lineno + 1)) & code
            if ast.get_docstring(node) is not None:
                lines -= set(range(node.body[0].lineno, node.body[0].end_lineno + 1))
            yield f"{relative(path)}: {node.name}", len(lines)


def test_every_import_is_declared():
    for_app, for_tests = "requirements.txt", "requirements-dev.txt"
    missing = {relative(path): undeclared(path, for_app) for path in sources("core", "app")}
    missing |= {relative(path): undeclared(path, for_app, for_tests) for path in sources("tests")}
    assert {path: modules for path, modules in missing.items() if modules} == {}


def test_core_never_imports_streamlit():
    assert [relative(path) for path in sources("core") if "streamlit" in imported(path)] == []


@pytest.mark.parametrize("pattern", ["*.py", "*.js"])
def test_no_file_is_too_long(pattern):
    sizes = {
        relative(path): len(path.read_text(encoding="utf-8").splitlines())
        for path in sources("core", "app", pattern=pattern)
    }
    assert {name: size for name, size in sizes.items() if size > LINES_IN_A_FILE} == {}


def test_no_function_is_too_long():
    sizes = [size for path in sources("core", "app") for size in function_sizes(path)]
    assert [(name, size) for name, size in sizes if size > LINES_IN_A_FUNCTION] == []


def test_function_size_leaves_out_comments_and_docstrings(tmp_path, monkeypatch):
    monkeypatch.setattr(f"{__name__}.ROOT", tmp_path)
    file = tmp_path / "one.py"
    file.write_text('def f():\n    """Two\n    lines."""\n\n    # why\n    return (\n        1)\n')
    assert list(function_sizes(file)) == [("one.py: f", 3)]


def test_dockerfile_copies_what_exists():
    copied = [
        shlex.split(line)[1:]
        for line in commands("Dockerfile")
        if line.startswith("COPY") and "--from" not in line
    ]
    paths = [path for words in copied for path in words[:-1] if not path.startswith("--")]
    assert paths
    assert [path for path in paths if not (ROOT / path).exists()] == []


def test_dockerignore_lets_through_what_is_copied():
    let_through = set(re.findall(r"^!(.+)$", text_of(".dockerignore"), re.MULTILINE))
    copied = re.findall(r"^COPY (?!--from)(\S+) ", text_of("Dockerfile"), re.MULTILINE)
    assert {"app", "core", "requirements.txt"} <= set(copied)
    assert set(copied) == let_through


def test_second_docker_stage_takes_what_the_first_one_made():
    text = text_of("Dockerfile")
    folder = re.search(r"^WORKDIR (\S+)$", text, re.MULTILINE)[1]
    cache = re.search(r"XDG_CACHE_HOME=(\S+)$", text, re.MULTILINE)[1]
    taken = re.findall(r"^COPY --from=builder (?:--\S+ )?(\S+) ", text, re.MULTILINE)
    assert taken == [f"{folder}/.venv", cache]
    assert f"PATH={folder}/.venv/bin:" in text


def test_container_does_not_run_as_root():
    user = re.search(r"^USER (\S+)$", text_of("Dockerfile"), re.MULTILINE)[1]
    assert f"useradd --create-home {user}" in text_of("Dockerfile")


# torch's own timer imports distutils; setuptools then warns whoever looks for pip.
@pytest.mark.filterwarnings("ignore:Setuptools is replacing distutils")
@pytest.mark.parametrize("paper", PAPERS)
def test_every_module_command_exists(paper):
    words = " ".join(commands(paper)).replace('", "', " ")
    modules = set(re.findall(r"(?:python\S*|\$\(RUN\)) -m (\w+)", words))
    assert "core" in modules
    assert [module for module in modules if not importlib.util.find_spec(module)] == []


@pytest.mark.parametrize("paper", PAPERS)
def test_every_core_command_is_understood(paper):
    lines = [line.split(" -m core ")[1] for line in commands(paper) if " -m core " in line]
    assert lines
    for line in lines:
        words = shlex.split(line, comments=True)
        assert importlib.util.find_spec(parser().parse_args(words).module)


@pytest.mark.parametrize(
    ("paper", "some"),
    [
        ("README.md", {"run", "test", "bench"}),
        ("CONTRIBUTING.md", {"check", "test", "slow", "bench"}),
        (".ci/run", {"test", "slow"}),
    ],
)
def test_every_make_command_is_a_target(paper, some):
    targets = set(re.findall(r"^([a-z]+):", text_of("Makefile"), re.MULTILINE))
    named = set(re.findall(r"(?:^|`)make ([a-z]+)", text_of(paper), re.MULTILINE))
    assert some <= named <= targets


@pytest.mark.parametrize(
    ("paper", "some"),
    [
        ("README.md", {"ARCHITECTURE.md", "CONTRIBUTING.md", "LICENSE"}),
        ("ARCHITECTURE.md", {"core/attention", "app/main.py", "tests/test_arrows.py"}),
        (
            "CONTRIBUTING.md",
            {"core/attention/common/mechanism.py", "app/words/en", "tests/browser"},
        ),
    ],
)
def test_every_path_that_a_paper_names_exists(paper, some):
    rooms = r"[`(]((?:app|core|tests|assets|scripts|\.streamlit)/[\w./-]*|[A-Z]+(?:\.md)?)[`)]"
    named = set(re.findall(rooms, text_of(paper))) - {"MECHANISMS", "MODELS", "WORDS"}
    named -= {"FORMULAS", "MARKS", "SOURCES", "MINE"}
    assert some <= named
    assert [path for path in sorted(named) if not (ROOT / path).exists()] == []


def test_the_papers_tell_every_step_of_the_makefile():
    steps = re.findall(r"\$\(RUN\) (-m .+)$", text_of("Makefile"), re.MULTILINE)
    assert len(steps) >= 8
    told = [line.partition(".venv/bin/python ")[2] for paper in WRITTEN for line in commands(paper)]
    assert [step for step in steps if step not in told] == []


def test_readme_is_short():
    assert len(text_of("README.md").splitlines()) <= 130


def example(number: int) -> dict[str, Any]:
    """The names that an example of the README leaves behind."""
    code = re.findall(r"```python\n(.*?)```", text_of("README.md"), re.DOTALL)[number]
    exec(compile(code, "README.md", "exec"), names := {})
    return names


@pytest.mark.weights
def test_readme_goes_from_load_to_a_map(fetched):
    fetched("minilm")
    names = example(0)
    row = names["maps"].row(names["call"], head=5, q=3)
    assert row.shape == (8,)
    assert row.sum().item() == pytest.approx(1.0)
    assert names["run"].prepared.groups[0].queries[0][3].label == "was"


def test_readme_records_any_model():
    names = example(1)
    # 7 positions a cell are the fewest that leave at most 32 of 197: 28 whole cells and a rest.
    assert names["maps"].pooled(names["trace"].calls[3], head=2, size=32).shape == (29, 29)


def test_ci_script_can_be_run_and_names_no_registry():
    script = ROOT / ".ci/run"
    assert os.access(script, os.X_OK)
    assert re.findall(r"https?://", script.read_text()) == []
    subprocess.run(["bash", "-n", script], check=True)
