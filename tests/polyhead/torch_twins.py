"""PyTorch's own layers with the weights of ours, and the gradients of both under our names."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from polyhead import Decoder, Encoder, EncoderLayer

ACTIVATIONS: dict[str, Any] = {
    "relu": "relu",
    "gelu": "gelu",
    "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"),
    "silu": F.silu,
}
_ATTENTION = {"in_proj_": "input_projection.", "out_proj.": "output_projection."}
_NAMES = {
    Encoder: {
        "linear1.": "feed_forward.expand.", "linear2.": "feed_forward.contract.",
        "norm1.": "attention_residual.norm.", "norm2.": "feed_forward_residual.norm.",
        "self_attn.": "attention.", **_ATTENTION,
    },
    Decoder: {
        "linear1.": "feed_forward.expand.", "linear2.": "feed_forward.contract.",
        "norm1.": "self_residual.norm.", "norm2.": "cross_residual.norm.",
        "norm3.": "feed_forward_residual.norm.", "self_attn.": "self_attention.",
        "multihead_attn.": "cross_attention.", **_ATTENTION,
    },
}  # fmt: skip


def stirred(module: nn.Module) -> nn.Module:
    """In double precision, and with no bias at 0 and no norm's factor at 1."""
    with torch.no_grad():
        for parameter in module.double().parameters():
            parameter += 0.2 * torch.randn_like(parameter)
    return module


def our_name(ours: nn.Module, name: str) -> str:
    """What the torch twin's parameter `name` is called in ours."""
    encodes = isinstance(ours, Encoder | EncoderLayer)
    for theirs, mine in _NAMES[Encoder if encodes else Decoder].items():
        name = name.replace(theirs, mine)
    return name


def twin_of(ours: nn.Module) -> nn.Module:
    """The `torch.nn` encoder, decoder, or one layer of these, that computes the same."""
    encodes = isinstance(ours, Encoder | EncoderLayer)
    layer = ours.layers[0] if isinstance(ours, Encoder | Decoder) else ours
    attention = layer.attention if encodes else layer.self_attention
    network, residual = layer.feed_forward, layer.feed_forward_residual
    twin: nn.Module = (nn.TransformerEncoderLayer if encodes else nn.TransformerDecoderLayer)(
        attention.embed_dim,
        attention.num_heads,
        network.expand.out_features,
        dropout=attention.dropout,
        activation=ACTIVATIONS[network.activation],
        layer_norm_eps=residual.norm.eps,
        batch_first=True,
        norm_first=residual.norm_first,
    )
    if layer is not ours:
        stack: Any = nn.TransformerEncoder if encodes else nn.TransformerDecoder
        norm = nn.LayerNorm(attention.embed_dim, eps=residual.norm.eps) if residual.norm_first else None
        options = {"enable_nested_tensor": False} if encodes else {}
        twin = stack(twin, len(ours.layers), norm, **options)
    twin.to(network.expand.weight.dtype)
    state = ours.state_dict()
    renamed = {name: our_name(ours, name) for name in twin.state_dict()}
    assert sorted(renamed.values()) == sorted(state)
    twin.load_state_dict({theirs: state[mine] for theirs, mine in renamed.items()})
    return twin


def gradients(module: nn.Module, ours: nn.Module | None = None) -> dict[str, Tensor]:
    """The parameters' gradients; with `ours`, those of its twin under the names of `ours`."""
    return {
        name if ours is None else our_name(ours, name): parameter.grad
        for name, parameter in module.named_parameters()
    }
