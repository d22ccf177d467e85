"""Llama: a decoder alone, of the kind that most public models are today."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from torch import Tensor, nn

from polyhead.checked import divided
from polyhead.decoder import Decoder
from polyhead.embedding import TokenEmbedding
from polyhead.layers import LayerOptions
from polyhead.positions import Llama3Scaling, RotaryPositions
from polyhead.pretrained.stored import Config, Names, Settings, StateDict
from polyhead.transformer import DecoderOnly

LAYER: Names = {
    "self_residual.norm": "input_layernorm",
    "self_attention.input_projection": tuple(f"self_attn.{name}_proj" for name in "qkv"),
    "self_attention.output_projection": "self_attn.o_proj",
    "feed_forward_residual.norm": "post_attention_layernorm",
    "feed_forward.gate": "mlp.gate_proj",
    "feed_forward.expand": "mlp.up_proj",
    "feed_forward.contract": "mlp.down_proj",
}
# Buffers of old files, made of the configuration.
_LEFT_OUT = (".rotary_emb.inv_freq",)


def load_llama(state_dict: Mapping[str, Tensor], config: Config) -> DecoderOnly:
    """A model that computes what transformers' `LlamaForCausalLM` does: `model(token_ids)` gives logits.

    Pre-norm with `RMSNorm`, SwiGLU, rotary positions in halves, with Llama 3's scaling or without, grouped
    keys, and an output tied to the embedding or not.

    Source: Touvron et al. 2023, Grattafiori et al. 2024; the names, transformers' `modeling_llama.py`.
    """
    return filled(make_llama(config), state_dict, LAYER)


def make_llama(config: Config) -> DecoderOnly:
    """The model that `load_llama` fills, with random weights: to train it, or, on "meta", to count it."""
    settings = Settings(config, "llama")
    settings.must_be(use_sliding_window=False, sliding_window=None, layer_types=None)
    size, heads = settings.sizes("hidden_size", "num_attention_heads")
    if settings.get("head_dim") is None:
        head_dim = divided("config.hidden_size", size, "config.num_attention_heads", heads)
    else:
        (head_dim,) = settings.sizes("head_dim")
    grouped = settings.get("num_key_value_heads") is not None
    own: LayerOptions = {
        "head_dim": head_dim,
        "num_kv_heads": settings.sizes("num_key_value_heads")[0] if grouped else heads,
        "ffn_bias": settings.flag("mlp_bias"),
    }
    return modern(settings, own)


def modern(settings: Settings, own: LayerOptions, windows: Sequence[int | None] | None = None) -> DecoderOnly:
    """What Llama and those after it have in common; `own` are a family's own options."""
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
        "rotary": _rotary(settings, own["head_dim"] or 0),
        **own,
    }
    embedding = TokenEmbedding(vocab_size, size, positions=None)
    decoder = Decoder(count, size, heads, cross_attention=False, windows=windows, **options)
    tied = settings.flag("tie_word_embeddings")
    return DecoderOnly(embedding, decoder, None if tied else nn.Linear(size, vocab_size, bias=False))


def filled(model: DecoderOnly, state_dict: Mapping[str, Tensor], names: Names) -> DecoderOnly:
    """The model with the weights of a state dict, in evaluation mode."""
    weights = StateDict(state_dict, "model.", outside=("lm_head.",))
    weights.fill(model.embedding, "", {"tokens": "embed_tokens"})
    layers: Iterable[Any] = model.decoder.layers
    for number, layer in enumerate(layers):
        weights.fill(layer, f"layers.{number}.", names, rows=layer.self_attention.sizes)
    weights.fill(model.decoder, "", {"norm": "norm"})
    if isinstance(model.output, nn.Linear):
        weights.fill(model, "", {"output": "lm_head"})
    else:
        weights.same("lm_head.weight", model.embedding.tokens.weight)
    weights.finish(_LEFT_OUT)
    return model.to(weights.dtype).eval()


_LLAMA3 = {
    "factor": "factor",
    "low": "low_freq_factor",
    "high": "high_freq_factor",
    "original_length": "original_max_position_embeddings",
}


def _rotary(settings: Settings, head_dim: int) -> RotaryPositions:
    """From either spelling: `rope_parameters`, or `rope_theta` and `rope_scaling`, as before 2026."""
    said = _rope(settings)
    kind = said.pop("rope_type", "default")
    base, part = said.pop("rope_theta", 10_000.0), said.pop("partial_rotary_factor", 1.0)
    if part != 1.0:
        raise ValueError(f"config.partial_rotary_factor must be 1.0, got {part!r}")
    if kind not in ("default", "llama3"):
        raise ValueError(f"config.rope_type must be 'default' or 'llama3', got {kind!r}")
    needed = _LLAMA3 if kind == "llama3" else {}
    for name in sorted({*needed.values()} ^ said.keys()):
        there = "is unknown" if name in said else "is missing"
        raise ValueError(f"config: {name} {there} in the rope settings of rope_type {kind!r}")
    scaling = Llama3Scaling(**{ours: said[name] for ours, name in _LLAMA3.items()}) if needed else None
    return RotaryPositions(head_dim, base, "halves", scaling)


def _rope(settings: Settings) -> dict[str, Any]:
    """All that is said of rotary positions, in the newer spelling; it must not be said twice differently."""
    said: dict[str, Any] = {}
    for name in ("rope_parameters", "rope_scaling"):
        part = settings.get(name, {})
        if not isinstance(part, Mapping):
            raise ValueError(f"config.{name} must be a dict or None, got {part!r}")
        for key, value in part.items():
            _say(said, "rope_type" if key == "type" else key, value)
    for key in ("rope_theta", "partial_rotary_factor"):
        if settings.get(key) is not None:
            _say(said, key, settings.get(key))
    return said


def _say(said: dict[str, Any], key: str, value: object) -> None:
    if value is not None and said.setdefault(key, value) != value:
        raise ValueError(f"config.{key} must be the same wherever it stands, got {said[key]!r} and {value!r}")
