"""Packing: a view as bytes, for a map that is larger than all that stands around it.

base64 inside of JSON would take a third more. `base/packing.js` opens it.
"""

import base64
import json
from typing import Any

from core.picture.canvas.views import ViewData


def packed(data: ViewData) -> bytes:
    """Four bytes for the length of the JSON, lowest first; the JSON; the data of its payloads.

    In the JSON a payload's data is where it starts and stops among the bytes after the JSON, and
    keys that are the same as the queries are left out.
    """
    behind = bytearray()

    def moved(value: Any) -> Any:  # noqa: ANN401 any JSON
        if not isinstance(value, dict):
            return value
        if "shape" not in value or "data" not in value:
            return {name: moved(part) for name, part in value.items()}
        start = len(behind)
        behind.extend(base64.b64decode(value["data"]))
        return {**value, "data": [start, len(behind)]}

    if "keys" in data and data["keys"] == data["queries"]:
        data = {name: part for name, part in data.items() if name != "keys"}
    text = json.dumps(moved(data), allow_nan=False, ensure_ascii=False)
    head = text.encode("utf-8", "surrogatepass")  # half a character must not stop the page
    return len(head).to_bytes(4, "little") + head + bytes(behind)
