"""The mechanism that a command was given, checked before any model is loaded."""

import argparse

from core.attention import MECHANISMS, unavailable
from core.errors import InputError
from core.models import devices


def check_mechanism(options: argparse.Namespace) -> None:
    """Return if there is this mechanism, and it can run on the device in the precision.

    Raises:
        InputError: with the reason.
    """
    name = options.mechanism
    if not name:
        return
    if name not in MECHANISMS:
        raise InputError(f"One of {', '.join(MECHANISMS)} was wanted; '{name}' came.")
    where = devices.resolve(options.device)
    reason = unavailable(name, where, devices.precision(options.precision, where))
    if reason is not None:
        raise InputError(f"'{name}' cannot run here: {reason}.")
