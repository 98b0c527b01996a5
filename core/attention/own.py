"""Own: a mechanism that is not among ours, entered beside them for this process."""

import hashlib
import importlib.util
import sys
from pathlib import Path

from core.attention import MECHANISMS
from core.attention.common.mechanism import Mechanism
from core.errors import InputError


def enter(mechanism: Mechanism) -> str:
    """Put a mechanism beside the others, where captures, maps and the bench find it by its name.

    Raises:
        InputError: if its name is that of another mechanism.
    """
    there = MECHANISMS.setdefault(mechanism.name, mechanism)
    if there is not mechanism:
        raise InputError(
            f"A mechanism with a name of its own was wanted; '{mechanism.name}' is taken by "
            f"'{there.title}'."
        )
    return mechanism.name


def load(where: str) -> Mechanism:
    """The mechanism that a Python file defines: 'file.py:name'. The file is run, once.

    Raises:
        InputError: if there is no such file or name, the file fails, or it is no mechanism.
    """
    file, _, name = where.rpartition(":")
    path = Path(file).resolve()
    if not name.isidentifier() or not path.is_file():
        raise InputError(f"A file and a name such as 'mine.py:MINE' were wanted; '{where}' came.")
    # One file, one module: what is loaded again has to be the same mechanism.
    module_name = f"headlight_own_{hashlib.sha256(str(path).encode()).hexdigest()[:16]}"
    if module_name not in sys.modules:
        spec = importlib.util.spec_from_file_location(module_name, path)
        sys.modules[module_name] = module = importlib.util.module_from_spec(spec)
        try:
            spec.loader.exec_module(module)
        except Exception as error:
            del sys.modules[module_name]
            raise InputError(f"'{path.name}' fails: {type(error).__name__}: {error}") from error
    found = getattr(sys.modules[module_name], name, None)
    if not isinstance(found, Mechanism):
        raise InputError(
            f"A Mechanism named {name} was wanted in '{path.name}'; {_came(found)} came."
        )
    return found


def _came(found: object) -> str:
    return "nothing" if found is None else f"a {type(found).__name__}"
