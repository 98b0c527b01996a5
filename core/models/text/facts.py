"""What the library's models do not say in one way: their family, layers, limits and start token.

Source: the configs and classes of transformers, https://huggingface.co/docs/transformers
"""

from torch import nn
from transformers import (
    MODEL_FOR_CAUSAL_LM_MAPPING,
    MODEL_FOR_MASKED_LM_MAPPING,
    MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING,
    MODEL_FOR_SEQUENCE_CLASSIFICATION_MAPPING,
    MODEL_FOR_TEXT_ENCODING_MAPPING,
    MODEL_MAPPING,
    PreTrainedConfig,
    PreTrainedModel,
    PreTrainedTokenizerBase,
)

from core.errors import InputError

LONGEST = 8192  # positions, for models that name no limit of their own
UNLIMITED = 10**9  # tokenizers without a limit carry a number far above this


def family(config: PreTrainedConfig) -> str:
    """'encoder', 'decoder' or 'encoder-decoder'."""
    if config.is_encoder_decoder:
        return "encoder-decoder"
    kind = type(config)
    looks_back = kind in MODEL_FOR_CAUSAL_LM_MAPPING and kind not in MODEL_FOR_MASKED_LM_MAPPING
    return "decoder" if looks_back or getattr(config, "is_decoder", False) else "encoder"


def text_class(config: PreTrainedConfig, name: str) -> type[PreTrainedModel]:
    """The class of transformers that runs this config on text.

    Raises:
        InputError: if it is not a text model.
    """
    kind = type(config)
    reads_text = (MODEL_FOR_MASKED_LM_MAPPING, MODEL_FOR_SEQUENCE_CLASSIFICATION_MAPPING)
    found = None
    if family(config) == "encoder-decoder":
        found = MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING.get(kind, None)
    elif family(config) == "decoder":
        found = MODEL_FOR_CAUSAL_LM_MAPPING.get(kind, None)
    elif any(kind in mapping for mapping in reads_text):
        found = MODEL_FOR_TEXT_ENCODING_MAPPING.get(kind, None) or MODEL_MAPPING.get(kind, None)
    if found is None:
        raise InputError(
            f"A text model was wanted; '{name}' is of the type '{config.model_type}', "
            "which reads something else."
        )
    return found[0] if isinstance(found, tuple) else found


def trunk_name(module: PreTrainedModel) -> str | None:
    """The name of the child that gives hidden states; None if the model itself does."""
    children = module.named_children()
    return next((name for name, child in children if isinstance(child, PreTrainedModel)), None)


def trunk(module: PreTrainedModel) -> PreTrainedModel:
    """The part that gives hidden states; an encoder-decoder is asked as a whole."""
    name = None if module.config.is_encoder_decoder else trunk_name(module)
    return module if name is None else getattr(module, name)


def layers(config: PreTrainedConfig) -> tuple[int, int]:
    """Attention layers of the encoder (or of the only part), and of the decoder."""
    if config.is_encoder_decoder:
        if hasattr(config, "num_decoder_layers"):
            return config.num_layers, config.num_decoder_layers
        if hasattr(config, "decoder_layers"):
            return config.encoder_layers, config.decoder_layers
        return config.encoder.num_hidden_layers, config.decoder.num_hidden_layers
    text = config.get_text_config()
    types = getattr(text, "layer_types", None)
    if not types:
        return text.num_hidden_layers, 0
    return sum("attention" in kind and "linear" not in kind for kind in types), 0


def max_positions(module: PreTrainedModel, tokenizer: PreTrainedTokenizerBase) -> int:
    """How many tokens the model can read at once."""
    config = module.config.get_text_config()
    named = (tokenizer.model_max_length, getattr(config, "max_position_embeddings", None))
    limits = [limit for limit in named if isinstance(limit, int) and 0 < limit < UNLIMITED]
    table = getattr(getattr(trunk(module), "embeddings", None), "position_embeddings", None)
    if isinstance(table, nn.Embedding) and table.padding_idx is not None:
        # RoBERTa numbers its positions from the one behind that of the padding.
        limits.append(table.num_embeddings - table.padding_idx - 1)
    return min(limits, default=LONGEST)


def start_token(module: PreTrainedModel, pad: int) -> int:
    """The id that a decoder of an encoder-decoder begins with."""
    owners = (module.config, getattr(module, "generation_config", None))
    known = [
        getattr(owner, name, None)
        for name in ("decoder_start_token_id", "bos_token_id")
        for owner in owners
    ]
    # T5 and its kin start with the padding token.
    return next((index for index in known if index is not None), pad)
