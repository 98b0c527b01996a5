"""Cells: texts of a table that a spreadsheet would take for a formula, made plain and back.

Source: OWASP on CSV injection, https://owasp.org/www-community/attacks/CSV_Injection
"""

import re

GUARD = "'"
FORMULA = re.compile(r"'*[=+\-@\t\r]")


def guarded(text: str) -> str:
    """The text, with an apostrophe before it if a spreadsheet would run it.

    That is a text that begins with = + - @, a tab or a carriage return. One that has apostrophes
    before such a sign gets one more, so that `unguarded` gives back every text.
    """
    return GUARD + text if FORMULA.match(text) else text


def unguarded(text: str) -> str:
    """The text without the apostrophe that `guarded` put before it."""
    return text.removeprefix(GUARD) if FORMULA.match(text) else text
