"""Draft: words that were typed and not run yet, marked as such and kept by the browser's own tab.

A form sends its words with Run only: until then the server knows nothing of them. The tab's
sessionStorage keeps them over a change of page and a reload, up to about 5 million characters.
"""

import streamlit as st

from app.words import say

# Other words from the server, after a run or a sample, end the draft. The same ones again mean that
# the page was changed or loaded anew: the draft comes back, as often as Streamlit overwrites it.
SCRIPT = """
const setValue = Object.getOwnPropertyDescriptor(HTMLTextAreaElement.prototype, "value").set;

const kept = {
  get: (area) => sessionStorage.getItem(area),
  set: (area, typed) => {
    try {
      sessionStorage.setItem(area, typed);
    } catch {} // full, or forbidden: the words stay where they are
  },
};
const seen = (window.headlightDrafts ??= {});

function look(parent) {
  const { area, ran, words } = parent.draft.data;
  const open = document.querySelector(`.st-key-${area} textarea`);
  if (!open) return;
  if (area in seen && seen[area] !== ran) kept.set(area, ran);
  seen[area] = ran;
  const draft = kept.get(area);
  if (draft !== null && draft !== open.value && open.value === ran) {
    setValue.call(open, draft);
    open.dispatchEvent(new Event("input", { bubbles: true }));
  }
  parent.querySelector("span").textContent = open.value === ran ? "" : words;
}

// Called at first and with all new data; what it returns is called at the end only.
export default function ({ data, parentElement: parent }) {
  if (parent.draft) {
    parent.draft.data = data;
    return parent.draft.close;
  }
  const onInput = ({ target }) => {
    if (target.closest?.(`.st-key-${parent.draft.data.area}`)) {
      kept.set(parent.draft.data.area, target.value);
    }
  };
  document.addEventListener("input", onInput);
  const looking = setInterval(() => look(parent), 250);
  const close = () => {
    document.removeEventListener("input", onInput);
    clearInterval(looking);
    delete parent.draft;
  };
  parent.draft = { data, close };
  return close;
}
"""
STYLE = "span { font-size: 0.875rem; color: var(--st-primary-color); }"
DRAFT = st.components.v2.component(
    "headlight_draft", html='<span role="status"></span>', css=STYLE, js=SCRIPT
)


def keep(area: str) -> None:
    """Keep what is typed into the text area `area`, by its key, and say when it was not run yet."""
    data = {"area": area, "ran": st.session_state[area], "words": say("not_run_yet")}
    DRAFT(data=data, key=f"{area}_draft")
