"""Qwen3: as Llama, with normalised queries and keys."""

from __future__ import annotations

from collections.abc import Mapping

from torch import Tensor

from polyhead.pretrained.llama import LAYER, filled, modern
from polyhead.pretrained.stored import Config, Names, Settings
from polyhead.transformer import DecoderOnly

_NORMS: Names = {
    "self_attention.query_norm": "self_attn.q_norm",
    "self_attention.key_norm": "self_attn.k_norm",
}


def load_qwen3(state_dict: Mapping[str, Tensor], config: Config) -> DecoderOnly:
    """A model that computes what transformers' `Qwen3ForCausalLM` does: `model(token_ids)` gives logits.

    As `load_llama`, and an RMSNorm over head_dim for queries and keys; head_dim is not embed_dim / num_heads.
    Some layers may have a window.

    Source: Qwen Team 2025; the names, transformers' `modeling_qwen3.py`.
    """
    return filled(make_qwen3(config), state_dict, {**LAYER, **_NORMS})


def make_qwen3(config: Config) -> DecoderOnly:
    """The model that `load_qwen3` fills, with random weights: to train it, or, on "meta", to count it."""
    settings = Settings(config, "qwen3")
    settings.must_be(mlp_bias=False)
    head_dim, groups = settings.sizes("head_dim", "num_key_value_heads")
    eps = settings.get("rms_norm_eps", 1e-6)
    return modern(
        settings, {"head_dim": head_dim, "num_kv_heads": groups, "qk_norm": eps}, _windows(settings)
    )


def _windows(settings: Settings) -> list[int | None]:
    """One for each layer: which have one is said layer by layer, or by the number of those that have none."""
    (count,) = settings.sizes("num_hidden_layers")
    windowed = settings.flag("use_sliding_window") and settings.get("sliding_window") is not None
    known = ["full_attention", "sliding_attention"] if windowed else ["full_attention"]
    told = settings.get("layer_types")
    if told is None:
        first = settings.sizes("max_window_layers")[0] if windowed else count
        told = [known[i >= first] for i in range(count)]
    if not isinstance(told, list) or len(told) != count or not set(told) <= set(known):
        wanted = f"one of {', '.join(map(repr, known))} for each of {count} layers"
        raise ValueError(f"config.layer_types must be {wanted}, got {told!r}")
    return [settings.sizes("sliding_window")[0] if kind == "sliding_attention" else None for kind in told]
