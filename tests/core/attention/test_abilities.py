"""What a mechanism says that it can take is what is checked, once, before its kernel runs."""

import ast
from dataclasses import FrozenInstanceError, replace
from pathlib import Path

import pytest
import torch

from core.attention import MECHANISMS, common
from core.attention.common.grid import Grid
from core.errors import MechanismError
from tests.core.attention.runnable import RUNNABLE

BATCH, HEADS, KV_HEADS, Q, K, DIM, VALUE_DIM = 2, 6, 3, 7, 11, 5, 3
every_mechanism = pytest.mark.parametrize("name", MECHANISMS)


def inputs(q=Q, k=K):
    rng = torch.Generator().manual_seed(0)
    sizes = ((HEADS, q, DIM), (KV_HEADS, k, DIM), (KV_HEADS, k, VALUE_DIM))
    return [torch.randn(BATCH, *size, generator=rng) for size in sizes]


def never(_):
    raise AssertionError("the kernel ran")


def able(name, **abilities):
    """The mechanism as if it could run here, and took all that these do not rule out."""
    everything = {
        "masks": "any", "mask_gradients": True, "has_dropout": True, "no_dropout": (),
        "no_gradients": (), "unavailable": None, "attend_kernel": never,
    }  # fmt: skip
    return replace(MECHANISMS[name], **(everything | abilities))


REFUSED = {
    "has_dropout": (False, {"dropout_p": 0.5}, "there is no dropout, .* dropout_p = 0.5 came"),
    "no_dropout": (("cpu",), {"dropout_p": 0.5}, "the CPU kernel has no dropout; dropout_p = 0.5"),
    "unavailable": (lambda device, dtype: f"no {dtype} on {device}", {}, "no torch.float32 on cpu"),
    "masks": ("none", {"mask": torch.ones(Q, K).bool()}, r"masks are not taken, .* \(7, 11\) came"),
    "mask_gradients": (
        False, {"mask": torch.zeros(Q, K, requires_grad=True)}, "masks that want a gradient",
    ),
}  # fmt: skip


@every_mechanism
@pytest.mark.parametrize("ability", REFUSED)
def test_what_a_mechanism_does_not_take_is_refused_by_its_name(name, ability):
    value, how, words = REFUSED[ability]
    with pytest.raises(MechanismError, match=f"^{name}: {words}"):
        able(name, **{ability: value}).attend(*inputs(), **how)
    with pytest.raises(AssertionError, match="the kernel ran"):
        able(name).attend(*inputs(), **how)


@every_mechanism
@pytest.mark.parametrize("which", [0, 1, 2])
def test_gradients_are_refused_only_where_they_are_wanted(name, which):
    tensors = inputs()
    tensors[which].requires_grad_()
    with pytest.raises(MechanismError, match=f"^{name}: PyTorch's CPU kernel has no backward"):
        able(name, no_gradients=("cpu",)).attend(*tensors)
    with torch.no_grad(), pytest.raises(AssertionError, match="the kernel ran"):
        able(name, no_gradients=("cpu",)).attend(*tensors)


@pytest.mark.parametrize("name", RUNNABLE)
def test_a_mechanism_that_says_it_has_dropout_drops_weights(name):
    mechanism, tensors = MECHANISMS[name], inputs()
    if mechanism.has_dropout and "cpu" not in mechanism.no_dropout:
        torch.manual_seed(0)
        assert not torch.equal(
            mechanism.attend(*tensors, dropout_p=0.5), mechanism.attend(*tensors)
        )
    else:
        with pytest.raises(MechanismError, match=f"^{name}: .*dropout_p = 0.5 came"):
            mechanism.attend(*tensors, dropout_p=0.5)


@every_mechanism
def test_a_grid_has_as_many_positions_as_keys_or_is_not_read(name):
    query, key, value = inputs()
    if not MECHANISMS[name].spatial:
        other = MECHANISMS[name].weights(query, key, grid=Grid(2, 5))
        assert torch.equal(other, MECHANISMS[name].weights(query, key))
        return
    with pytest.raises(ValueError, match="10 keys were wanted .* 11 came"):
        able(name).attend(query, key, value, grid=Grid(2, 5))
    with pytest.raises(ValueError, match="10 keys were wanted .* 11 came"):
        MECHANISMS[name].weights(query, key, grid=Grid(2, 5))
    MECHANISMS[name].weights(query, key, grid=Grid(2, 5, 1))


@every_mechanism
@pytest.mark.parametrize("is_causal", [False, True])
def test_rows_of_some_queries_stand_where_their_positions_say(name, is_causal):
    query, key, _ = inputs()
    positions, mask = torch.tensor([6, 2, 3]), torch.rand(Q, K) > 0.3
    every = MECHANISMS[name].weights(query, key, mask=mask, is_causal=is_causal)
    some = MECHANISMS[name].weights(
        query[:, :, positions], key, mask=mask[positions], is_causal=is_causal, positions=positions
    )
    torch.testing.assert_close(some, every[:, :, positions])


@every_mechanism
def test_a_kernel_gets_one_frozen_set_of_inputs(name):
    got = []

    def kernel(one):
        got.append(one)
        return one.query.new_zeros(BATCH, HEADS, Q, K if one.value is None else VALUE_DIM)

    query, key, value = inputs()
    mechanism = able(name, attend_kernel=kernel, weights_kernel=kernel)
    mechanism.attend(query, key, value, is_causal=True, grid=Grid(2, 5, 1))
    mechanism.weights(query, key, scale=0.3, positions=torch.arange(Q))
    assert [one.scale for one in got] == [DIM**-0.5, 0.3]
    assert [one.value is None for one in got] == [False, True]
    assert got[0].shape == got[1].shape == (BATCH, HEADS, Q, K)
    with pytest.raises(FrozenInstanceError):
        got[0].is_causal = False


def test_what_mechanisms_share_imports_none_of_them():
    for path in Path(common.__file__).parent.glob("*.py"):
        modules = [
            node.module
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
            if isinstance(node, ast.ImportFrom)
        ]
        above = [each for each in modules if each.startswith("core.attention")]
        assert all(each.startswith("core.attention.common.") for each in above), path
