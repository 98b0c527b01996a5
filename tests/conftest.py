"""Options of the tests."""

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--keep-screenshot",
        action="store_true",
        help="put the browser test's screenshot into assets/, for the README",
    )
