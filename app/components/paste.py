"""Paste: a picture from the clipboard, by button or Ctrl+V, which Streamlit's uploader lacks."""

import base64
import binascii

import streamlit as st

from app.words import say

SCRIPT = """
export default function ({ data, parentElement, setTriggerValue }) {
  const button = parentElement.querySelector("button");
  const hint = parentElement.querySelector("span");
  button.textContent = data.label;
  hint.textContent = data.hint;

  const send = (file) => {
    const reader = new FileReader();
    reader.onload = () => setTriggerValue("picture", reader.result);
    reader.readAsDataURL(file);
  };
  const none = () => { hint.textContent = data.none; };

  button.onclick = async () => {
    try {
      for (const item of await navigator.clipboard.read()) {
        const type = item.types.find((name) => name.startsWith("image/"));
        if (type) return send(await item.getType(type));
      }
      none();
    } catch {
      none(); // the browser or the visitor said no
    }
  };
  const onPaste = (event) => {
    const file = [...(event.clipboardData?.files ?? [])].find((f) => f.type.startsWith("image/"));
    if (file) send(file);
  };
  document.addEventListener("paste", onPaste);
  return () => document.removeEventListener("paste", onPaste);
}
"""
PAGE = '<div><button type="button"></button> <span></span></div>'
STYLE = """
button {
  font: inherit; font-size: 14px; padding: 0.5em 0.8em; border-radius: 8px; cursor: pointer;
  color: var(--st-text-color); background: var(--st-background-color);
  border: 1px solid var(--st-border-color);
}
button:hover, button:focus-visible { border-color: var(--st-primary-color); outline: none; }
span { opacity: 0.65; font-size: 0.9em; }
"""

PASTE = st.components.v2.component("headlight_paste", html=PAGE, css=STYLE, js=SCRIPT)


def pasted_picture(key: str) -> bytes | None:
    """The bytes of a picture that was just pasted; None on every other run of the page."""
    words = {name: say(f"image_paste{end}") for name, end in
             (("label", ""), ("hint", "_hint"), ("none", "_none"))}  # fmt: skip
    sent = PASTE(data=words, key=key, on_picture_change=lambda: None).picture
    if not sent:
        return None
    try:
        return base64.b64decode(sent.partition(",")[2], validate=True)
    except binascii.Error:
        return b""
