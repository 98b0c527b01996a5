"""What a decoder would say next: scores of one position of each text, never of all positions.

Source: https://huggingface.co/docs/transformers/model_doc/auto (models for causal language)
"""

import copy
from dataclasses import replace
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from transformers import PreTrainedModel, PreTrainedTokenizerBase
from transformers.modeling_outputs import BaseModelOutputWithPast
from transformers.utils import ModelOutput

from core.models.run import Run
from core.models.text.facts import trunk_name
from core.models.text.labels import token_labels
from core.types import Prediction

LIKELIEST = 5


def next_logits(
    module: PreTrainedModel, outputs: ModelOutput, last: Int[Tensor, " batch"]
) -> Float[Tensor, "batch vocabulary"] | None:
    """Scores of the token after each item's position `last`, None for a model without a head.

    The model's own forward runs on that position only, with a stand-in that hands over what the
    trunk gave already: so its own scaling or capping of scores is not left out.
    """
    name = trunk_name(module)
    if name is None:
        return None
    rows = outputs.last_hidden_state[torch.arange(len(last)), last][:, None]
    head = copy.copy(module)  # shares every weight
    known = _Known(replace(outputs, last_hidden_state=rows))
    head._modules = {**module._modules, name: known}
    unread = torch.zeros(len(last), 1, dtype=torch.long, device=rows.device)
    return head(input_ids=unread, use_cache=False).logits[:, -1]


@torch.no_grad()
def likely_after(
    module: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    run: Run,
    *,
    item: int,
    position: int,
    most: int,
) -> tuple[Prediction, ...]:
    """The `most` likeliest tokens after a position of a decoder's text, by its model's own scores.

    Of that position alone, from the hidden states that the run kept.

    Raises:
        ValueError: if the text has no such position, or the model gives no scores.
    """
    group = run.prepared.groups[0]
    count = len(group.queries[item])
    if not 0 <= position < count:
        raise ValueError(f"a position from 0 to {count - 1} was wanted; {position} came")
    known = BaseModelOutputWithPast(last_hidden_state=run.output.hidden[item : item + 1])
    logits = next_logits(module, known, torch.tensor([group.first_query[item] + position]))
    if logits is None:
        raise ValueError(f"a decoder with scores was wanted; '{run.model}' came")
    return predictions(tokenizer, logits, most)[0]


def predictions(
    tokenizer: PreTrainedTokenizerBase,
    logits: Float[Tensor, "batch vocabulary"],
    most: int = LIKELIEST,
) -> tuple[tuple[Prediction, ...], ...]:
    """The likeliest next tokens of each item, with their probability."""
    probability = logits.detach().float().softmax(dim=-1)
    values, indices = probability.topk(min(most, probability.shape[-1]))
    return tuple(
        tuple(map(Prediction, token_labels(tokenizer, ids), row))
        for ids, row in zip(indices.tolist(), values.tolist(), strict=True)
    )


class _Known(nn.Module):
    """Gives what the trunk gave already."""

    def __init__(self, outputs: ModelOutput) -> None:
        super().__init__()
        self.outputs = outputs

    @property
    def decoder(self) -> "_Known":
        """Some heads ask the decoder inside the trunk."""
        return self

    def forward(self, *args: Any, **kwargs: Any) -> ModelOutput:
        """The known outputs, whatever is asked."""
        return self.outputs
