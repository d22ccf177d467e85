"""Qwen3: Llama with normalised queries and keys."""

from collections.abc import Mapping

from torch import Tensor

from polyhead.layers import LayerOptions
from polyhead.pretrained.hugging_face import Config, Settings, load_weights
from polyhead.pretrained.llama import LAYOUT, make_decoder
from polyhead.transformer import DecoderOnly

_NORMS = {
    "decoder.layers.*.self_attention.query_norm": "layers.*.self_attn.q_norm",
    "decoder.layers.*.self_attention.key_norm": "layers.*.self_attn.k_norm",
}
_LAYOUT = LAYOUT._replace(parts={**LAYOUT.parts, **_NORMS})


def load_qwen3(state_dict: Mapping[str, Tensor], config: Config) -> DecoderOnly:
    """Load a model that computes the logits of transformers' `Qwen3ForCausalLM`: `model(token_ids)`.

    Like `load_llama`, with an RMSNorm over head_dim for queries and keys; head_dim is independent of
    embed_dim / num_heads. Some layers may have a window.

    Source: Qwen Team 2025; the names, transformers' `modeling_qwen3.py`.

    >>> load_qwen3({}, {"model_type": "bert"})
    Traceback (most recent call last):
    ValueError: config.model_type must be 'qwen3', got 'bert'
    """
    return load_weights(make_qwen3(config), state_dict, _LAYOUT)


def make_qwen3(config: Config) -> DecoderOnly:
    """Make the model of `load_qwen3` with random weights: to train it or, on the device "meta", to count it.

    >>> config = {
    ...     "model_type": "qwen3", "vocab_size": 11, "hidden_size": 6, "intermediate_size": 8,
    ...     "num_hidden_layers": 1, "num_attention_heads": 3, "hidden_act": "silu",
    ...     "head_dim": 4, "num_key_value_heads": 1,
    ... }
    >>> make_qwen3(config).decoder.layers[0].self_attention.sizes  # of queries, keys and values
    [12, 4, 4]
    """
    settings = Settings(config, "qwen3")
    settings.must_be(mlp_bias=False)
    head_dim, groups = settings.sizes("head_dim", "num_key_value_heads")
    eps = settings.get("rms_norm_eps", 1e-6)
    family: LayerOptions = {"head_dim": head_dim, "num_kv_heads": groups, "qk_norm_eps": eps}
    return make_decoder(settings, family, _windows(settings))


def _windows(settings: Settings) -> list[int | None]:
    """The window of each layer, or None; `layer_types` or `max_window_layers` tells which layers have one."""
    (count,) = settings.sizes("num_hidden_layers")
    windowed = settings.flag("use_sliding_window") and settings.get("sliding_window") is not None
    kinds = ["full_attention", "sliding_attention"] if windowed else ["full_attention"]
    types = settings.get("layer_types")
    if types is None:
        first = settings.sizes("max_window_layers")[0] if windowed else count
        types = [kinds[i >= first] for i in range(count)]
    if not isinstance(types, list) or len(types) != count or not set(types) <= set(kinds):
        expected = f"one of {', '.join(map(repr, kinds))} for each of {count} layers"
        raise ValueError(f"config.layer_types must be {expected}, got {types!r}")
    return [settings.sizes("sliding_window")[0] if kind == "sliding_attention" else None for kind in types]
