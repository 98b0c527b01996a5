import numpy as np
import pytest
import torch
import torch.nn.functional as F

from core.capture import capture
from core.explain.gradients import attended, graded, weighted
from core.explain.relevance import relevances
from core.maps import head_map
from tests.core.explain.towers import JOINT, TinyTower


def qkv(*leading: int) -> list[torch.Tensor]:
    rng = torch.Generator().manual_seed(0)
    return [torch.randn(*leading, length, 5, generator=rng) for length in (7, 11, 11)]


def test_outputs_are_kept_only_where_asked_for():
    with capture() as trace:
        output = F.scaled_dot_product_attention(*qkv(2, 3))
    assert trace.calls[0].value is None
    assert trace.calls[0].output is None
    assert not output.requires_grad


@pytest.mark.parametrize("leading", [(), (3,), (2, 3), (2, 1, 3)])
@pytest.mark.parametrize("mechanism", [None, "linear"])
def test_a_kept_output_is_the_one_that_the_model_goes_on_with(leading, mechanism):
    q, k, v = qkv(*leading)
    with capture(mechanism, keep_outputs=True) as trace:
        output = F.scaled_dot_product_attention(q, k, v)
    assert trace.calls[0].output is output
    found = graded(output.square().sum(), trace.calls)[0]
    expected = (2 * output).detach().reshape(found.gradient.shape)
    torch.testing.assert_close(found.gradient, expected)


def test_rows_equal_the_whole_map():
    with capture(keep_outputs=True) as trace:
        output = F.scaled_dot_product_attention(*qkv(2, 3))
    rows = torch.rand(2, 7, generator=torch.Generator().manual_seed(1))
    call = trace.calls[0]
    found = graded(output.pow(3).sum(), trace.calls)[0]
    maps = torch.stack([head_map(call, head, 1) for head in range(3)])
    slope = (3 * output[1].detach() ** 2) @ call.value[1].mT
    torch.testing.assert_close(weighted(found, rows, 1), rows @ (slope * maps).clamp(min=0))
    torch.testing.assert_close(attended(call, rows[0], 1), rows[0] @ maps)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_comes_near(dtype):
    tower = TinyTower()
    prepared, direction = tower.prepared(), torch.linspace(-1, 2, JOINT)[None]
    exact = relevances(tower, prepared, direction)[0].positions
    tower.module.to(dtype)
    prepared.tensors["x"] = prepared.tensors["x"].to(dtype)
    rough = relevances(tower, prepared, direction)[0].positions
    assert rough.dtype == exact.dtype
    np.testing.assert_allclose(rough, exact, atol=0.1 * exact.max())
