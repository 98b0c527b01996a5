from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn
from torch.overrides import _get_current_function_mode_stack

from core.bench.memory import peak_bytes
from core.errors import MechanismError
from core.explain.relevance import relevances
from tests.core.explain.dense import linear_weights, published, same
from tests.core.explain.towers import JOINT, TinyTower

DIRECTION = torch.linspace(-1, 2, JOINT)

TOWERS = {
    "CLS": {},
    "grouped queries": {"heads": 4, "kv_heads": 2},
    "mean of the patches": {"kind": "mean"},
    "attention pool": {"kind": "query", "index": 1},
    "end of a causal text": {"is_causal": True, "index": 4},
    "padded texts": {"lengths": (7, 5)},
}


@pytest.mark.parametrize("item", [0, 1])
@pytest.mark.parametrize("options", TOWERS.values(), ids=TOWERS)
def test_equals_the_published_algorithm(options, item, monkeypatch):
    tower = TinyTower(**options)
    prepared = tower.prepared()
    expected = published(tower, prepared, DIRECTION, monkeypatch, item=item)
    same(relevances(tower, prepared, DIRECTION[None], item=item)[0], expected)


@pytest.mark.parametrize("options", TOWERS.values(), ids=TOWERS)
def test_equals_it_for_linear_attention_too(options, monkeypatch):
    tower = TinyTower(**options)
    prepared = tower.prepared()
    expected = published(tower, prepared, DIRECTION, monkeypatch, item=1, weights=linear_weights)
    same(relevances(tower, prepared, DIRECTION[None], "linear", item=1)[0], expected)


def test_several_directions_take_one_forward_pass(monkeypatch):
    tower = TinyTower()
    passes = []
    monkeypatch.setattr(TinyTower, "embed", counted(TinyTower.embed, passes))
    directions = torch.stack([DIRECTION, DIRECTION.flip(0)])
    both = relevances(tower, tower.prepared(), directions)
    assert len(passes) == 1
    for direction, found in zip(directions, both, strict=True):
        alone = relevances(tower, tower.prepared(), direction[None])[0]
        np.testing.assert_array_equal(found.positions, alone.positions)
        np.testing.assert_array_equal(found.heads, alone.heads)


def counted(function, calls):
    def count(*args):
        calls.append(args)
        return function(*args)

    return count


@pytest.mark.parametrize("options", TOWERS.values(), ids=TOWERS)
def test_no_gradient_is_no_relevance(options):
    tower = TinyTower(**options)
    found = relevances(tower, tower.prepared(), torch.zeros(1, JOINT))[0]
    assert not found.positions.any()
    assert not found.heads.any()


def test_a_gradient_that_never_reaches_attention_is_none():
    tower = TinyTower()
    tower.module.project = Constant()
    assert not relevances(tower, tower.prepared(), DIRECTION[None])[0].positions.any()


class Constant(nn.Module):
    """An embedding that has a graph, and does not move with its input."""

    def forward(self, x):
        return torch.ones(len(x), JOINT) + 0 * x[:, :1]


@pytest.mark.parametrize("trained", [False, True])
def test_nothing_sticks_to_the_model(trained):
    tower = TinyTower()
    tower.module.requires_grad_(trained)
    prepared = tower.prepared()
    before = [parameter.clone() for parameter in tower.module.parameters()]
    relevances(tower, prepared, DIRECTION[None])
    with pytest.raises(MechanismError):
        relevances(TinyTower(), masked_pairs(prepared), DIRECTION[None], "linear")
    for parameter, old in zip(tower.module.parameters(), before, strict=True):
        assert parameter.grad is None
        assert parameter.requires_grad == trained
        assert torch.equal(parameter, old)
    assert not prepared.tensors["x"].requires_grad
    assert _get_current_function_mode_stack() == []
    assert all(not module._forward_hooks for module in tower.module.modules())


def masked_pairs(prepared):
    """The same input with a mask that linear attention does not take."""
    length = prepared.tensors["x"].shape[1]
    mask = torch.eye(length, dtype=torch.bool).expand(2, 1, -1, -1)
    return replace(prepared, tensors=prepared.tensors | {"mask": mask})


def test_frozen_and_trained_weights_give_the_same():
    frozen, trained = TinyTower(), TinyTower()
    trained.module.requires_grad_(True)
    found = [relevances(t, t.prepared(), DIRECTION[None])[0] for t in (frozen, trained)]
    np.testing.assert_allclose(found[0].positions, found[1].positions, rtol=1e-6)


def test_works_inside_inference_mode():
    tower = TinyTower()
    plain = relevances(tower, tower.prepared(), DIRECTION[None])[0]
    with torch.inference_mode():
        inside = relevances(tower, tower.prepared(), DIRECTION.clone()[None])[0]
    np.testing.assert_array_equal(inside.positions, plain.positions)


def test_threads_do_not_disturb_each_other():
    tower = TinyTower()
    directions = torch.randn(8, JOINT, generator=torch.Generator().manual_seed(2))
    work = lambda direction: relevances(tower, tower.prepared(), direction[None])[0].positions  # noqa: E731
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(work, directions))
    np.testing.assert_array_equal(together, [work(direction) for direction in directions])


def test_a_long_input_never_holds_the_maps_of_a_layer():
    tower = TinyTower(heads=12, kv_heads=12)
    prepared = tower.prepared(batch=1, grid=(32, 32))
    peak = peak_bytes(lambda: relevances(tower, prepared, DIRECTION[None]))
    assert peak < 12 * 1025 * 1025 * 4
