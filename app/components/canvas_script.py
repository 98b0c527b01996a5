"""The canvas's script, brought once a session: a view brings only the line that waits for it.

Streamlit sends a component's script with each of its answers: 110 kB for a head of 2 kB.
"""

import hashlib
import json

import streamlit as st

from core.picture.canvas.source import script, style

# By its content: a tab that outlives an update finds the new script, not the old one.
NAME = f"headlight_{hashlib.sha256((script() + style()).encode()).hexdigest()[:12]}"

# Whichever comes first makes the place where the others find the script.
PLACE = f"""window.{NAME} ??= (() => {{
  const place = {{}};
  place.canvas = new Promise((found) => {{ place.bring = found; }});
  return place;
}})();
"""

BRINGING = f"""{PLACE}
{script()}
const sheet = new CSSStyleSheet();
sheet.replaceSync({json.dumps(style())});
window.{NAME}.bring((component) => {{
  component.parentElement.adoptedStyleSheets = [sheet];
  return render(component);
}});
export default () => undefined;
"""

WAITING = f"""{PLACE}
export default async (component) => (await window.{NAME}.canvas)(component);
"""

SCRIPT = st.components.v2.component("headlight_script", js=BRINGING)


def bring() -> None:
    """Send the script; once a session, as Streamlit sends nothing large twice that stays."""
    SCRIPT(key="headlight_script")
