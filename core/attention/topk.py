"""Top-k attention: every score is computed, and the largest of each row are used.

Source: Zhao et al. 2019, section 3, https://arxiv.org/abs/1912.11637

Which scores are large is known only once all are there, so nothing is saved; what changes is the
map. Softmax over the largest scores is their usual weights, divided by their sum.
"""

from functools import partial

from jaxtyping import Float
from torch import Tensor

from core.attention.common.inputs import AttentionInputs
from core.attention.common.mechanism import Mechanism
from core.attention.common.softmax import averaged_values, softmax_weights
from core.attention.linear import normalised
from core.errors import InputError

TOP_K = 32


def weights(top_k: int, inputs: AttentionInputs) -> Float[Tensor, "batch head q k"]:
    """Softmax over the `top_k` largest allowed scores of each row; all other keys weigh 0."""
    every = softmax_weights(inputs)
    largest = every.topk(min(top_k, every.shape[-1]), dim=-1)
    shares = normalised(largest.values, largest.values.sum(dim=-1, keepdim=True))
    return every.new_zeros(every.shape).scatter(-1, largest.indices, shares)


def attend(top_k: int, inputs: AttentionInputs) -> Float[Tensor, "batch head q value_dim"]:
    """The values, averaged by the weights; dropout falls on the weights."""
    return averaged_values(weights(top_k, inputs), inputs)


def topk(top_k: int = TOP_K) -> Mechanism:
    """Top-k attention with another number of keys a row.

    Raises:
        InputError: if no key would be left.
    """
    if top_k < 1:
        raise InputError(f"At least 1 key a row to keep was wanted; {top_k} came.")
    return Mechanism(
        name="topk" if top_k == TOP_K else f"topk {top_k}",
        title=f"Top {top_k}",
        source="Zhao et al. 2019, https://arxiv.org/abs/1912.11637",
        exact=False,
        cost="time and memory grow as N x N: it saves no time, since every score is needed to find "
        f"the {top_k} largest of a row",
        attend_kernel=partial(attend, top_k),
        weights_kernel=partial(weights, top_k),
    )


TOPK = topk()
