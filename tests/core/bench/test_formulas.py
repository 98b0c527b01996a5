"""Formulas: operations worked out by hand, and peaks beside the profiler's."""

import pytest
import torch

from core.attention import MECHANISMS, unavailable
from core.bench.formulas import FORMULAS, formula
from core.bench.formulas.sizes import Sizes
from core.bench.memory import peak_bytes

COMPILED_SLOWLY = [
    pytest.param(name, marks=pytest.mark.slow) if MECHANISMS[name].compiles else name
    for name in FORMULAS
]
HAND = Sizes(batch=2, heads=3, length=5, dim=7, number=4, causal=False, threads=1, on_cpu=True)


def test_operations_by_hand():
    # Two products, 6 heads x 5 x 5 pairs x 7 dimensions, a multiplication and an addition.
    assert FORMULAS["standard"].flops(HAND) == 2 * 2 * 6 * 25 * 7
    assert FORMULAS["flash"].flops(HAND) == 2 * 2 * 6 * 25 * 7
    # Causal: 1 + 2 + 3 + 4 + 5 pairs a head, but standard computes all and hides.
    assert FORMULAS["flash"].flops(HAND._replace(causal=True)) == 2 * 2 * 6 * 15 * 7
    assert FORMULAS["standard"].flops(HAND._replace(causal=True)) == 2 * 2 * 6 * 25 * 7
    # A 7 x 8 state (values and a 1) is filled by every key and read by every query.
    assert FORMULAS["linear"].flops(HAND) == 2 * 6 * 5 * 2 * 7 * 8
    # 13 features = 7 ln 7: q and k are projected, then as linear with 13 for 7.
    assert FORMULAS["favor"].flops(HAND) == 2 * 6 * 5 * (2 * 7 * 13 + 2 * 13 * 8)


def test_operations_of_a_window_grow_as_the_length():
    flops = [FORMULAS["window"].flops(HAND._replace(length=each)) for each in (2048, 4096)]
    assert flops[1] / flops[0] == pytest.approx(2, rel=0.1)


def test_operations_of_the_windows_of_a_picture_by_hand():
    # 64 patches a side: 9 windows of 7 and one of 1; shifted, one of 3, 8 of 7 and one of 5.
    pairs = {"swin": (9 * 7**2 + 1) ** 2, "swin_shifted": (3**2 + 8 * 7**2 + 5**2) ** 2}
    for mechanism, each in pairs.items():
        assert FORMULAS[mechanism].flops(HAND._replace(length=4096)) == 2 * 2 * 6 * each * 7


def test_nothing_moves_less_than_inputs_and_output():
    for each in FORMULAS.values():
        assert each.traffic(HAND) >= 4 * 2 * 3 * 5 * 7 * 4


def test_an_unknown_mechanism_has_no_formula():
    assert formula("magic") is None


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(("length", "threads"), [(1024, 1), (2048, 2)])
@pytest.mark.parametrize("mechanism", COMPILED_SLOWLY)
def test_b5_peaks_are_within_a_tenth_of_what_the_profiler_sees(mechanism, length, threads, causal):
    torch.set_num_threads(threads)
    reason = unavailable(mechanism, torch.device("cpu"), torch.float32)
    if reason is not None:
        pytest.skip(f"{mechanism}: {reason}")
    query, key, value = torch.randn(3, 1, 4, length, 64, generator=torch.Generator().manual_seed(0))
    attend = MECHANISMS[mechanism].attend
    with torch.inference_mode():
        # favor keeps its features, flex its kernel
        attend(query, key, value, is_causal=causal)
        found = peak_bytes(lambda: attend(query, key, value, is_causal=causal))
    at = Sizes(1, 4, length, 64, 4, causal, threads, True)
    assert FORMULAS[mechanism].peak(at) == pytest.approx(found, rel=0.1)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("dim", [32, 64, 128])
@pytest.mark.parametrize("mechanism", ["linear", "favor"])
@pytest.mark.parametrize(
    "lengths",  # whole blocks, and one that is cut off
    [(64, 100, 256, 700, 1024), pytest.param((4096, 16_384), marks=pytest.mark.slow)],
)
def test_sums_over_keys_hold_what_the_formula_says(lengths, mechanism, dim, causal):
    attend = MECHANISMS[mechanism].attend
    for length in lengths:
        query, key, value = torch.zeros(3, 1, 8, length, dim)
        with torch.inference_mode():
            attend(query, key, value, is_causal=causal)  # favor keeps its features
            found = peak_bytes(lambda: attend(query, key, value, is_causal=causal))  # noqa: B023
        at = Sizes(1, 8, length, dim, 4, causal, torch.get_num_threads(), True)
        assert FORMULAS[mechanism].peak(at) == pytest.approx(found, rel=0.02), length
