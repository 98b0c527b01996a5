"""Standard attention: every score is computed and kept. The mechanism the others are compared with.

Source: Vaswani et al. 2017, equation 1, https://arxiv.org/abs/1706.03762
"""

from jaxtyping import Float
from torch import Tensor

from core.attention.common.inputs import AttentionInputs
from core.attention.common.mechanism import Mechanism
from core.attention.common.softmax import averaged_values, softmax_weights


def attend(inputs: AttentionInputs) -> Float[Tensor, "batch head q value_dim"]:
    """The values, averaged by the weights; dropout falls on the weights."""
    return averaged_values(softmax_weights(inputs), inputs)


STANDARD = Mechanism(
    name="standard",
    title="Standard",
    source="Vaswani et al. 2017, https://arxiv.org/abs/1706.03762",
    exact=True,
    cost="time and memory grow as N x N",
    attend_kernel=attend,
    weights_kernel=softmax_weights,
)
