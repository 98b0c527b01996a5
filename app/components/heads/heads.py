"""Heads: the mosaic of all heads beside one head as map, arcs or table, and its downloads."""

from dataclasses import replace

import pandas as pd
import streamlit as st

from app.components import canvas, page, sidebar
from app.components.heads import downloads, mosaics
from app.components.long_text import map
from app.components.long_text import row as long_text_row
from app.services import runs
from app.services.runs import Kept
from app.words import plain, say
from core.maps import head_view
from core.maps.head_view import Choice, HeadView
from core.models import MODELS
from core.picture.canvas.scene import head_scene, labels, sentence_scenes
from core.picture.canvas.views import CanvasStyle

MANY = 8  # sentences up to which each has a button of its own


def sentence_picker(kept: Kept, key: str) -> int:
    """Which sentence of the batch is looked at."""
    sentences = kept.wanted.given
    # Named by the texts alone: another mechanism must not jump back to the first sentence.
    how = {
        "options": range(len(sentences)),
        "format_func": lambda index: f"{index + 1}  {plain(sentences[index][:40])}",
        "key": f"{key}_item_{hash(sentences)}",
        "persist_state": "session",
    }
    if len(sentences) > MANY:
        return st.selectbox(say("text_sentence"), **how)
    return st.pills(say("text_sentence"), default=0, required=True, wrap=True, **how)


@st.fragment
def show(kept: Kept, item: int, stale: bool, key: str, pin: str | None = None) -> None:
    """All heads and one head; moving between heads redraws this part only and runs no model.

    `pin` is a token whose row is pinned at first.
    """
    with page.guarded():
        above = st.container()
        left, right = st.columns(2, gap="medium")
        mosaic_place = left.container()
        with left:
            choice = options(kept, item, key)
        view = runs.head_for(kept, choice)
        name = run_name(kept, choice)
        style = sidebar.canvas_style(stale=stale)
        # The table has no canvas that could answer a click on a token.
        if st.session_state.get(f"{key}_form") != "table":
            with above:
                if view.shown:
                    long_text_row.show(kept, choice, name, style, key)
                else:
                    sentences(view, name, style, key)
        with right:
            st.subheader(say("one_head", layer=choice.layer, head=choice.head))
            show_head(kept, choice, view, style, key, pin)
            downloads.of_head(kept, choice, view, key)
        with mosaic_place:
            st.subheader(say("all_heads"))
            mosaics.show(kept, choice, name, style, key)


def options(kept: Kept, item: int, key: str) -> Choice:
    """Layer, head and how the map is shown, from the widgets above it."""
    groups = kept.run.prepared.groups
    with st.expander(say("options"), expanded=True):
        group = 0
        if len(groups) > 1:
            group = st.segmented_control(
                say("text_kind"),
                range(len(groups)),
                format_func=lambda index: groups[index].name,
                default=0,
                required=True,
                wrap=True,
                key=f"{key}_group",
                persist_state="session",
            )
        layers = len(groups[group].calls)
        calls = kept.run.trace.calls
        start_at(kept, key)
        _clamp(f"{key}_layer", layers)
        left, right = st.columns(2)
        layer = left.selectbox(
            say("layer"),
            range(layers),
            key=f"{key}_layer",
            persist_state="session",
            help=say("layer_help"),
        )
        heads = calls[groups[group].calls[layer]].heads
        _clamp(f"{key}_head", heads)
        head = right.selectbox(
            say("head"),
            range(heads),
            key=f"{key}_head",
            persist_state="session",
            help=say("head_help"),
        )
        choice = Choice(group, layer, head, item)
        if head_view.is_long(kept.run, choice):
            return map.settings(kept, choice, key)
        hide = left.toggle(
            say("hide_special"),
            key=f"{key}_hide",
            persist_state="session",
            help=say("hide_special_help"),
        )
        words = right.toggle(
            say("by_word"), key=f"{key}_words", persist_state="session", help=say("by_word_help")
        )
    return replace(choice, hide_special=hide, by_word=words)


def start_at(kept: Kept, key: str) -> None:
    """A new model opens at a head worth seeing; after that the choice is the visitor's."""
    state = st.session_state
    if state.get(f"{key}_looked") == kept.wanted.model:
        return
    state[f"{key}_looked"] = kept.wanted.model
    entry = MODELS.get(kept.wanted.model)
    state[f"{key}_layer"], state[f"{key}_head"] = entry.first_look if entry else (0, 0)


def show_head(
    kept: Kept,
    choice: Choice,
    view: HeadView,
    style: CanvasStyle,
    key: str,
    pin: str | None,
) -> None:
    """One head in the form that was chosen."""
    form = st.segmented_control(
        say("form"),
        ["map", "arcs", "table"],
        format_func=lambda form: say(f"form_{form}"),
        default="map",
        required=True,
        wrap=True,
        key=f"{key}_form",
        persist_state="session",
        label_visibility="collapsed",
    )
    caption = [part for part in (view.note, shared_key(kept, choice)) if part]
    if caption:
        st.caption(" · ".join(caption))
    name, state = run_name(kept, choice), st.session_state
    if view.shown:
        if form == "table":
            long_text_row.table(kept, choice, key)
        else:
            map.show(kept, choice, view, name, form=form, style=style, key=key)
        return
    row = pinned(kept, view, pin, key)
    if form == "table":
        table(view, row, key)
        return
    # The browser keeps a pin by itself: were each one part of the data, the map would come again.
    if state.get(f"{key}_pin_start", (None, None))[0] != (name, form):
        state[f"{key}_pin_start"] = ((name, form), row)
    row = state[f"{key}_pin_start"][1]
    scene = head_scene(view, choice, run=name, form=form, query=row, style=style)
    canvas.head_map(scene, key=f"{key}_map", on_row_change=lambda: keep_pin(kept, view, key))


def run_name(kept: Kept, choice: Choice) -> str:
    """What the views of one sentence, shown in one way, call themselves to find each other."""
    parts = (kept.wanted.name, choice.item, choice.group, choice.hide_special, choice.by_word)
    return "-".join(str(part) for part in parts)


def pinned(kept: Kept, view: HeadView, pin: str | None, key: str) -> int | None:
    """The row that the visitor pinned in this text, whatever the mechanism; at first, `pin`."""
    names = labels(view.queries)
    given, row = st.session_state.get(f"{key}_pin", (None, None))
    if given == (kept.wanted.given, names):
        return row
    return names.index(pin) if pin in names else None


def keep_pin(kept: Kept, view: HeadView, key: str) -> None:
    """Remember the pinned row, so that it outlives a change of mechanism."""
    row = canvas.row_of(st.session_state[f"{key}_map"].row)
    st.session_state[f"{key}_pin"] = ((kept.wanted.given, labels(view.queries)), row)


def shared_key(kept: Kept, choice: Choice) -> str:
    """Which query heads read the same key-value head; nothing where each has its own."""
    call = head_view.call_of(kept.run, choice)
    kv_head = call.kv_head(choice.head)
    sharing = [head for head in range(call.heads) if call.kv_head(head) == kv_head]
    if len(sharing) == 1:
        return ""
    return say("shared_kv", heads=f"{sharing[0]} to {sharing[-1]}", kv_head=kv_head)


def table(view: HeadView, row: int | None, key: str) -> None:
    """One row of the map as numbers, to sort and to hear."""
    names = labels(view.queries)
    query = st.selectbox(
        say("table_row"),
        range(len(names)),
        index=row or 0,
        format_func=lambda index: f"{index}  {names[index]}",
        help=say("table_row_help"),
        key=f"{key}_table_row",
    )
    weights = view.weights[query]
    if view.allowed is not None and not view.allowed[query].any():
        st.caption(say("row_nothing"))
    columns = [say("table_position"), say("table_token"), say("table_weight")]
    data = pd.DataFrame(
        zip(range(len(weights)), labels(view.keys), weights, strict=True), columns=columns
    )
    st.dataframe(
        data.sort_values(columns[2], ascending=False),
        hide_index=True,
        column_config={
            columns[2]: st.column_config.ProgressColumn(format="%.4f", min_value=0.0, max_value=1.0)
        },
    )
    st.caption(say("row_sum", count=len(weights), total=float(weights.sum())))


def sentences(view: HeadView, name: str, style: CanvasStyle, key: str) -> None:
    """The tokens to click on, shaded by the pinned row."""
    for index, scene in enumerate(sentence_scenes(view, run=name, style=style)):
        canvas.sentence(scene, key=f"{key}_sentence_{index}")


def _clamp(key: str, size: int) -> None:
    """A layer or head that the new model lacks falls back to its last one."""
    st.session_state[key] = min(st.session_state.get(key, 0), size - 1)
