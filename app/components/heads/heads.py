"""Heads: the mosaic of all heads beside one head as map, arcs or table, and its downloads."""

from dataclasses import replace

import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from app.components import canvas, sidebar
from app.components import page as components_page
from app.components.head_panel import HeadPanel
from app.components.heads import downloads, mosaics, next_tokens, pins
from app.components.long_text import map as long_map
from app.components.long_text import row as long_row
from app.components.state import state_of
from app.services.runs import RunResult
from app.words import plain, say
from core.maps import head_view
from core.maps.head_view import Choice
from core.models import MODELS
from core.picture.canvas.scene import head_scene, labels, sentence_scenes

MANY = 8  # sentences up to which each has a button of its own


def sentence_picker(result: RunResult, page: str) -> int:
    """Which sentence of the batch is looked at."""
    sentences = result.request.input
    # Named by the texts alone: another mechanism must not jump back to the first sentence.
    how = {
        "options": range(len(sentences)),
        "format_func": lambda index: f"{index + 1}  {plain(sentences[index][:40])}",
        "key": f"{page}_item_{hash(sentences)}",
        "persist_state": "session",
    }
    if len(sentences) > MANY:
        return st.selectbox(say("text_sentence"), **how)
    return st.pills(say("text_sentence"), default=0, required=True, wrap=True, **how)


@st.fragment
def show(result: RunResult, item: int, stale: bool, page: str, pin: str | None = None) -> None:
    """All heads and one head; moving between heads redraws this part only and runs no model.

    `pin` is a token whose row is pinned at first.
    """
    with components_page.guarded():
        above = st.container()
        left, right = st.columns(2, gap="medium")
        mosaic_place = left.container()
        with left:
            choice = options(result, item, page)
        view = head_view.head_view(result.run, choice)
        panel = HeadPanel(result, choice, view, sidebar.canvas_style(stale=stale), page)
        # The table has no canvas that could answer a click on a token.
        if st.session_state.get(f"{page}_form") != "table":
            with above:
                if view.shown:
                    long_row.show(panel)
                else:
                    sentences(panel)
        with right:
            st.subheader(say("one_head", layer=choice.layer, head=choice.head))
            show_head(panel, pin)
            downloads.of_head(panel, pins.pinned(panel, pin))
        with mosaic_place:
            st.subheader(say("all_heads"))
            mosaics.show(panel)
        next_tokens.show(panel, pin)


def options(result: RunResult, item: int, page: str) -> Choice:
    """Layer, head and how the map is shown, from the widgets above it."""
    groups, calls = result.run.prepared.groups, result.run.trace.calls
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
                key=f"{page}_group",
                persist_state="session",
            )
        layers = len(groups[group].calls)
        start_at(result.request.model, page)
        _clamp(f"{page}_layer", layers)
        left, right = st.columns(2)
        layer = left.selectbox(
            say("layer"),
            range(layers),
            key=f"{page}_layer",
            persist_state="session",
            help=say("layer_help"),
        )
        heads = calls[groups[group].calls[layer]].heads
        _clamp(f"{page}_head", heads)
        head = right.selectbox(
            say("head"),
            range(heads),
            key=f"{page}_head",
            persist_state="session",
            help=say("head_help"),
        )
        choice = Choice(group, layer, head, item)
        if head_view.is_long(result.run, choice):
            return long_map.settings(result, choice, page)
        return replace(choice, **leaving_out(result, choice, page, left, right))


def leaving_out(
    result: RunResult, choice: Choice, page: str, left: DeltaGenerator, right: DeltaGenerator
) -> dict[str, bool]:
    """What is left out of the map, and whether words are joined."""
    keep, keys = {"persist_state": "session"}, result.run.prepared.groups[choice.group].keys
    special = any(position.special for position in keys[choice.item])
    hide = left.toggle(
        say("hide_special"), key=f"{page}_hide", disabled=not special,
        help=say("hide_special_help" if special else "hide_special_none"), **keep,
    )  # fmt: skip
    words = right.toggle(say("by_word"), key=f"{page}_words", help=say("by_word_help"), **keep)
    leave = bool(result.run.output.predictions) and left.toggle(  # a decoder's
        say("leave_first"), key=f"{page}_leave_first", help=say("leave_first_help"), **keep
    )
    if not special:
        right.caption(say("hide_special_none"))
    return {"hide_special": hide and special, "by_word": words, "leave_first": leave}


def start_at(model: str, page: str) -> None:
    """A new model opens at a head worth seeing; after that the choice is the visitor's."""
    state = state_of(page).heads
    if state.model == model:
        return
    state.model, entry = model, MODELS.get(model)
    layer, head = entry.first_look if entry else (0, 0)
    st.session_state[f"{page}_layer"], st.session_state[f"{page}_head"] = layer, head


def show_head(panel: HeadPanel, pin: str | None) -> None:
    """One head in the form that was chosen."""
    form = st.segmented_control(
        say("form"),
        ["map", "arcs", "table"],
        format_func=lambda form: say(f"form_{form}"),
        default="map",
        required=True,
        wrap=True,
        key=f"{panel.page}_form",
        persist_state="session",
        label_visibility="collapsed",
    )
    caption = [part for part in (panel.view.note, shared_key(panel)) if part]
    if caption:
        st.caption(" · ".join(caption))
    if panel.view.shown:
        if form == "table":
            long_row.table(panel)
        else:
            long_map.show(panel, form)
        return
    row = pins.pinned(panel, pin)
    if form == "table":
        table(panel, row)
        return
    state, key = panel.state.heads, f"{panel.page}_map"
    scene = head_scene(
        panel.view,
        panel.choice,
        run=panel.name,
        form=form,
        query=state.initial_row.of((panel.name, form), row),
        scale=state.initial_scale.of((panel.name, form), state.scale),
        style=panel.style,
    )
    canvas.head_map(
        scene,
        key=key,
        on_row_change=lambda: pins.remember_pin(panel),
        on_scale_change=lambda: panel.remember_scale(key),
    )


def shared_key(panel: HeadPanel) -> str:
    """Which query heads read the same key-value head; nothing where each has its own."""
    call = head_view.call_of(panel.result.run, panel.choice)
    kv_head = call.kv_head(panel.choice.head)
    sharing = [head for head in range(call.heads) if call.kv_head(head) == kv_head]
    if len(sharing) == 1:
        return ""
    return say("shared_kv", heads=f"{sharing[0]} to {sharing[-1]}", kv_head=kv_head)


def table(panel: HeadPanel, row: int | None) -> None:
    """One row of the map as numbers, to sort and to hear."""
    view, names = panel.view, labels(panel.view.queries)
    query = st.selectbox(
        say("table_row"),
        range(len(names)),
        index=row or 0,
        format_func=lambda index: f"{index}  {names[index]}",
        help=say("table_row_help"),
        key=f"{panel.page}_table_row",
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


def sentences(panel: HeadPanel) -> None:
    """The tokens to click on, shaded by the pinned row."""
    scenes = sentence_scenes(panel.view, run=panel.name, style=panel.style)
    for index, scene in enumerate(scenes):
        canvas.sentence(scene, key=f"{panel.page}_sentence_{index}")


def _clamp(key: str, size: int) -> None:
    """A layer or head that the new model lacks falls back to its last one."""
    st.session_state[key] = min(st.session_state.get(key, 0), size - 1)
