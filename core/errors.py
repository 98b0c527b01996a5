"""The errors whose message is shown to a visitor as it stands."""


class InputError(ValueError):
    """Something the visitor can put right; the message says what was wanted and what came."""


class MechanismError(InputError):
    """An attention mechanism was asked for something it cannot do; the message names it."""


class OutOfMemoryError(InputError):
    """The model and its input do not fit into the memory there is."""
