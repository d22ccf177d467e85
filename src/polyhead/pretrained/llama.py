"""Llama: a decoder alone, with the architecture of most public models today."""

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from polyhead.checked import divide_exactly
from polyhead.decoder import Decoder
from polyhead.embedding import TokenEmbedding
from polyhead.layers import LayerOptions
from polyhead.positions import Llama3Scaling, RotaryPositions
from polyhead.pretrained.hugging_face import Config, Layout, Settings, load_weights, query_key_value
from polyhead.transformer import DecoderOnly

LAYOUT = Layout(
    prefix="model.",
    parts={
        "embedding.tokens": "embed_tokens",
        "decoder.layers.*.self_residual.norm": "layers.*.input_layernorm",
        "decoder.layers.*.self_attention.input_projection": query_key_value("layers.*.self_attn"),
        "decoder.layers.*.self_attention.output_projection": "layers.*.self_attn.o_proj",
        "decoder.layers.*.feed_forward_residual.norm": "layers.*.post_attention_layernorm",
        "decoder.layers.*.feed_forward.gate": "layers.*.mlp.gate_proj",
        "decoder.layers.*.feed_forward.expand": "layers.*.mlp.up_proj",
        "decoder.layers.*.feed_forward.contract": "layers.*.mlp.down_proj",
        "decoder.norm": "norm",
        "output": "lm_head",  # a tied one has no weight of its own
    },
    copies={"lm_head.weight": "embedding.tokens"},
    # Buffers of old files, computed from the configuration.
    ignored=(".rotary_emb.inv_freq",),
)


def load_llama(state_dict: Mapping[str, Tensor], config: Config) -> DecoderOnly:
    """Load a model that computes the logits of transformers' `LlamaForCausalLM`: `model(token_ids)`.

    Pre-norm with `RMSNorm`, SwiGLU, rotary positions in halves, with Llama 3's scaling or without, grouped
    keys, and an output tied to the embedding or not.

    Source: Touvron et al. 2023, Grattafiori et al. 2024; the names, transformers' `modeling_llama.py`.

    >>> load_llama({}, {"model_type": "bert"})
    Traceback (most recent call last):
    ValueError: config.model_type must be 'llama', got 'bert'
    """
    with torch.device("meta"):  # no random weights are made for those that follow
        model = make_llama(config)
    return load_weights(model, state_dict, LAYOUT)


def make_llama(config: Config) -> DecoderOnly:
    """Make the model of `load_llama` with random weights: to train it or, on the device "meta", to count it.

    >>> config = {
    ...     "model_type": "llama", "vocab_size": 11, "hidden_size": 6, "intermediate_size": 8,
    ...     "num_hidden_layers": 1, "num_attention_heads": 3, "hidden_act": "silu",
    ... }
    >>> model = make_llama(config)
    >>> sum(parameter.numel() for parameter in model.parameters())  # (2 · 11 + 4 · 6 + 3 · 8 + 3) · 6
    438
    """
    settings = Settings(config, "llama")
    settings.must_be(use_sliding_window=False, sliding_window=None, layer_types=None)
    size, heads = settings.sizes("hidden_size", "num_attention_heads")
    if settings.get("head_dim") is None:
        head_dim = divide_exactly("config.hidden_size", size, "config.num_attention_heads", heads)
    else:
        (head_dim,) = settings.sizes("head_dim")
    grouped = settings.get("num_key_value_heads") is not None
    options: LayerOptions = {
        "head_dim": head_dim,
        "num_kv_heads": settings.sizes("num_key_value_heads")[0] if grouped else heads,
        "ffn_bias": settings.flag("mlp_bias"),
    }
    return make_decoder(settings, options)


def make_decoder(
    settings: Settings, family: LayerOptions, windows: Sequence[int | None] | None = None
) -> DecoderOnly:
    """Make a decoder with the common options of Llama and its successors, and those of its own family.

    >>> config = {
    ...     "vocab_size": 11, "hidden_size": 6, "intermediate_size": 8, "num_hidden_layers": 1,
    ...     "num_attention_heads": 3, "hidden_act": "silu", "model_type": "llama",
    ... }
    >>> model = make_decoder(Settings(config, "llama"), {"head_dim": 4, "num_kv_heads": 1})
    >>> model.decoder.layers[0].self_attention.sizes  # of queries, keys and values
    [12, 4, 4]
    """
    settings.must_be(attention_dropout=0.0, quantization_config=None)
    vocab_size, size, ffn_dim = settings.sizes("vocab_size", "hidden_size", "intermediate_size")
    count, heads = settings.sizes("num_hidden_layers", "num_attention_heads")
    options: LayerOptions = {
        "ffn_dim": ffn_dim,
        "dropout": 0.0,
        "activation": settings.activation("hidden_act"),
        "norm_first": True,
        "layer_norm_eps": settings.get("rms_norm_eps", 1e-6),
        "norm": "rms",
        "gated": True,
        "ffn_bias": False,
        "attention_bias": settings.flag("attention_bias"),
        "rotary": _rotary(settings, family["head_dim"] or 0),
        **family,
    }
    embedding = TokenEmbedding(vocab_size, size, positions=None)
    decoder = Decoder(count, size, heads, cross_attention=False, windows=windows, **options)
    tied = settings.flag("tie_word_embeddings")
    return DecoderOnly(embedding, decoder, None if tied else nn.Linear(size, vocab_size, bias=False))


_LLAMA3 = {
    "factor": "factor",
    "low": "low_freq_factor",
    "high": "high_freq_factor",
    "original_length": "original_max_position_embeddings",
}


def _rotary(settings: Settings, head_dim: int) -> RotaryPositions:
    """The positions by either spelling: `rope_parameters`, or before 2026 `rope_theta` and `rope_scaling`."""
    rope = _rope_settings(settings)
    kind = rope.pop("rope_type", "default")
    base, part = rope.pop("rope_theta", 10_000.0), rope.pop("partial_rotary_factor", 1.0)
    if part != 1.0:
        raise ValueError(f"config.partial_rotary_factor must be 1.0, got {part!r}")
    if kind not in ("default", "llama3"):
        raise ValueError(f"config.rope_type must be 'default' or 'llama3', got {kind!r}")
    needed = _LLAMA3 if kind == "llama3" else {}
    for name in sorted({*needed.values()} ^ rope.keys()):
        problem = "is unknown" if name in rope else "is missing"
        raise ValueError(f"config: {name} {problem} in the rope settings of rope_type {kind!r}")
    scaling = Llama3Scaling(**{ours: rope[name] for ours, name in _LLAMA3.items()}) if needed else None
    return RotaryPositions(head_dim, base, "halves", scaling)


def _rope_settings(settings: Settings) -> dict[str, Any]:
    """All settings of rotary positions in the newer spelling; a ValueError if two contradict each other."""
    given: list[tuple[str, Any]] = []
    for name in ("rope_parameters", "rope_scaling"):
        part = settings.get(name, {})
        if not isinstance(part, Mapping):
            raise ValueError(f"config.{name} must be a dict or None, got {part!r}")
        given += [("rope_type" if key == "type" else key, value) for key, value in part.items()]
    given += [(key, settings.get(key)) for key in ("rope_theta", "partial_rotary_factor")]
    rope: dict[str, Any] = {}
    for key, value in given:
        if value is not None and rope.setdefault(key, value) != value:
            raise ValueError(f"config.{key} must have one value, got {rope[key]!r} and {value!r}")
    return rope
