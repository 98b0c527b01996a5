"""A page that opens anywhere without a network: the same interactive picture, all inlined."""

import html
import json
from collections.abc import Sequence
from string import Template

from core.picture.canvas.source import script, style
from core.picture.canvas.views import ViewData

# The policy makes 'offline' a promise: the page cannot load or send anything.
POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'unsafe-inline'"

PAGE = Template("""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="$policy">
<title>$title</title>
<style>
$page_style
</style>
</head>
<body>
<h1>$title</h1>
<details><summary>Where this comes from</summary><pre>$about</pre></details>
<main></main>
<script type="application/json" id="views">$views</script>
<script type="application/json" id="style">$style</script>
<script>
(() => {
"use strict";
$script
$starter
})();
</script>
</body>
</html>
""")

PAGE_STYLE = """:root {
  color-scheme: light dark;
  --st-background-color: #ffffff;
  --st-text-color: #1f2430;
  --st-primary-color: #d9480f;
  --st-font: system-ui, "Segoe UI", Roboto, Helvetica, Arial, sans-serif;
}
@media (prefers-color-scheme: dark) {
  :root {
    --st-background-color: #11151c;
    --st-text-color: #e8eaee;
    --st-primary-color: #ff922b;
  }
}
body {
  margin: 0 auto;
  max-width: 1200px;
  padding: 20px 16px 40px;
  background: var(--st-background-color);
  color: var(--st-text-color);
  font-family: var(--st-font);
}
h1 {
  margin: 0 0 16px;
  font-size: 20px;
  font-weight: 600;
  overflow-wrap: anywhere;
}
details {
  margin-bottom: 16px;
  font-size: 14px;
}
pre {
  white-space: pre-wrap;
  overflow-wrap: anywhere;
}
section {
  margin-bottom: 28px;
}"""

# A shadow root for each view, as in the app, so that one style sheet serves both.
STARTER = """const read = (id) => JSON.parse(document.getElementById(id).textContent);
const sheet = read("style");
const views = read("views").map((data) => {
  const section = element("section");
  const parentElement = section.attachShadow({ mode: "open" });
  parentElement.appendChild(element("style", "", sheet));
  document.querySelector("main").appendChild(section);
  return { data, parentElement, setStateValue: () => undefined };
});
const renderAll = () => views.forEach(render);
window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", renderAll);
renderAll();"""


def offline_html(title: str, data: ViewData | list[ViewData], about: Sequence[str] = ()) -> str:
    """One view, or several of one run below each other that follow one another's pinned row.

    `about` is the provenance, a line each.
    """
    views = data if isinstance(data, list) else [data]
    return PAGE.substitute(
        policy=html.escape(POLICY),
        title=html.escape(title),
        about=html.escape("\n".join(about)),
        page_style=PAGE_STYLE,
        views=embedded(views),
        style=embedded(style()),
        script=script(),
        starter=STARTER,
    )


def embedded(value: list[ViewData] | str) -> str:
    """JSON that cannot end the script element it stands in, whatever the labels say."""
    text = json.dumps(value, allow_nan=False)
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")
