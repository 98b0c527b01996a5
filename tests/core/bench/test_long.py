"""The bench of a long text: its bars on a tiny model, a sentence where weights are missing."""

from core.bench.bars import long
from core.bench.bars.report import Line
from core.maps.regions import Region
from core.models.text.model import TextModel
from tests.core.maps.test_regions import module
from tests.core.words import byte_tokenizer


def test_missing_weights_are_a_sentence(monkeypatch):
    monkeypatch.setattr(long, "ready", lambda name: False)
    (said,) = long.lines()
    assert said.startswith("smollm2, 8,192 tokens: not measured")


def test_every_bar_stands_beside_what_was_measured(monkeypatch):
    tiny = TextModel(module("sdpa"), byte_tokenizer(), "tiny")
    monkeypatch.setattr(long, "ready", lambda name: True)
    monkeypatch.setattr(long, "load", lambda *_, **__: tiny)
    monkeypatch.setattr(long, "TOKENS", 1100)
    monkeypatch.setattr(long, "HEADS", ((0, 0), (1, 3)))
    monkeypatch.setattr(long, "TILES", (Region((588, 1100), (0, 512)),))
    lines = list(long.lines())
    assert all(isinstance(line, Line) for line in lines)
    bars = {(line.bar, line.unit) for line in lines if line.bar is not None}
    assert bars == {(0.4, "s"), (150, "ms"), (300, "kB"), (1 / 4, "ratio")}
    assert "1,100 tokens" in lines[0].what
    # What is counted: bytes of a map and of a tile, both with the canvas's own script.
    sent = [line.value.median for line in lines if line.unit == "kB"]
    assert all(20 < kilobytes < 300 for kilobytes in sent)
