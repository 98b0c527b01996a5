"""A journey into a map of 8,192 tokens in a real browser, with the real weights of SmolLM2."""

import re
from pathlib import Path

import numpy as np
import pytest
import torch
from playwright.sync_api import expect
from transformers.models.llama.modeling_llama import apply_rotary_pos_emb

import core
from core import models
from tests.browser.app_page import PATIENCE, Visit

pytestmark = pytest.mark.slow
TOKENS, HEAD = 8_192, 4
FORWARD = 900_000  # milliseconds: half a minute on two idle cores

# A canvas knows its frame through the element that Streamlit gave it.
FRAME = """(node) => {
    let at = node;
    while (!at.headlight) at = at.parentNode ?? at.host;
    const { data, view } = at.headlight;
    const matrix = view.matrix && { values: [...view.matrix.values], shape: view.matrix.shape };
    return { region: data.region, passages: data.passages, query: data.query, matrix };
}"""


@pytest.fixture(scope="module")
def file(tmp_path_factory) -> Path:
    """Our own source, more than the model reads."""
    sources = sorted(Path(core.__file__).parent.rglob("*.py"))
    text = "\n".join(path.read_text(encoding="utf-8") for path in sources)[:100_000]
    path = tmp_path_factory.mktemp("texts") / "source.py"
    path.write_text(text, encoding="utf-8")
    return path


def eager_rows(text: str, queries: list[int]) -> np.ndarray:
    """softmax(q k^T) of layer 0 by hand: what it reads are the embeddings alone."""
    model = models.load("smollm2", device="cpu")
    ids = model.tokenizer(text, return_tensors="pt")["input_ids"][:, :TOKENS]
    trunk = model.module.model
    attention, width = trunk.layers[0].self_attn, model.module.config.head_dim
    with torch.inference_mode():
        hidden = trunk.layers[0].input_layernorm(trunk.embed_tokens(ids))
        query, key = (
            project(hidden).unflatten(2, (-1, width)).transpose(1, 2)
            for project in (attention.q_proj, attention.k_proj)
        )
        turns = trunk.rotary_emb(hidden, torch.arange(TOKENS)[None])
        query, key = apply_rotary_pos_emb(query, key, *turns)
        shared = query.shape[1] // key.shape[1]
        scores = query[0, HEAD, queries] @ key[0, HEAD // shared].T / width**0.5
        later = torch.arange(TOKENS) > torch.tensor(queries)[:, None]
        return scores.masked_fill(later, -torch.inf).softmax(dim=-1).numpy()


def read_file(here: Visit, file: Path) -> None:
    """Give a file to SmolLM2 and wait for the map of its head 4 in layer 0."""
    page = here.page
    page.get_by_role("combobox", name="Model").click()
    page.get_by_role("option", name=re.compile("SmolLM2")).click()
    page.get_by_role("button", name="Read a file").click()
    page.locator('input[type="file"]').first.set_input_files(file)
    expect(page.get_by_text("Read in place of your sentences")).to_be_visible(timeout=PATIENCE)
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Run", exact=True).click()
    expect(page.get_by_text("The first 8,192 of")).to_be_visible(timeout=FORWARD)
    expect(here.canvas("\u206830\u2069 layers")).to_be_visible(timeout=FORWARD)
    here.quiet()  # a page that is drawn anew closes a list
    page.get_by_role("combobox", name="Layer").click()
    page.keyboard.type("0")  # the list is long: what is not typed for is not there to click
    page.get_by_role("option", name="0", exact=True).click()
    expect(page.get_by_role("heading", name=f"Layer 0, head {HEAD}")).to_be_visible(
        timeout=PATIENCE
    )
    here.quiet()


def press(here: Visit, name: str, count: int = 1) -> None:
    """Press a button over the map, and wait for the answer."""
    for _ in range(count):
        here.page.get_by_role("button", name=name, exact=True).click()
    expect(here.page.get_by_text("coming …")).to_have_count(0, timeout=PATIENCE)


def test_a_map_of_8192_tokens_is_zoomed_into_exact_weights(visit, file, fetched):
    fetched("smollm2")
    here = visit()
    page = here.page
    read_file(here, file)
    expect(page.get_by_text("largest weight of each 16 x 16 positions")).to_be_visible()
    here.received.clear()
    press(here, "Zoom in to single weights")
    expect(page.get_by_text(re.compile("positions .* exact"))).to_be_visible(timeout=PATIENCE)
    here.quiet()
    assert max(here.received) <= 300_000
    press(here, "Zoom in", 2)
    here.quiet()
    told = here.canvas("Attention map").evaluate(FRAME)
    (q, k), shape = (told["region"][side] for side in "qk"), told["matrix"]["shape"]
    assert shape == [128, 128]
    wanted = eager_rows(file.read_text(encoding="utf-8"), list(range(*q)))[:, slice(*k)]
    found = np.reshape(told["matrix"]["values"], shape)
    np.testing.assert_allclose(found, wanted, atol=1e-5 + wanted.max() / 65_535)
    # The row of one token, exact over all keys, whatever the map shows.
    page.get_by_role("spinbutton", name="Query token").fill("4711")
    page.keyboard.press("Enter")
    expect(page.get_by_text(re.compile("Shaded by what token .4,711"))).to_be_visible(
        timeout=PATIENCE
    )
    row = eager_rows(file.read_text(encoding="utf-8"), [4711])[0]
    told = page.locator('[data-view="excerpt"] .tokens').evaluate(FRAME)
    assert told["query"] == 4711
    for passage in told["passages"]:
        start, weights = passage["start"], passage["weights"]
        np.testing.assert_allclose(weights, row[start : start + len(weights)], atol=1e-5)
    page.set_viewport_size({"width": 390, "height": 844})
    page.emulate_media(color_scheme="dark")
    page.wait_for_timeout(1500)
    assert not here.scrolls_sideways()
