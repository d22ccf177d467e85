"""Plants the bugs of the small decoders in a whole language model, which keeps its weights."""

import math
from collections.abc import Collection
from functools import partial
from typing import Any

import torch.nn.functional as F
from torch import Tensor, nn

from attention_clinic.diagnosis import FINDINGS
from attention_clinic.planted import BUGS, class_of
from attention_clinic.small import SmallDecoder, SmallLayer
from polyhead.checked import checked
from polyhead.transformer import DecoderOnly

PLANTABLE: tuple[str, ...] = tuple(bug for bug in BUGS if bug not in FINDINGS["names"]["not_in_llama"])


@checked
def plant(model: DecoderOnly, bug: str = "none", layers: Collection[int] | None = None) -> SmallDecoder:
    """Return a decoder that computes with the model's own weights, and with a bug.

    It is called as `planted_decoder(bug)` is, can be examined by the laws and generates text. No weight is
    copied: the model stays as it is, and a change of its weights is a change of all that were planted in it.

    Args:
        model: A model as `polyhead.pretrained.load_llama` makes it.
        bug: One of `PLANTABLE`, or "none".
        layers: The numbers of the layers that have the bug, from 0; all of them by default.

    Raises:
        ValueError: The bug cannot be planted in such a model, or the model is of another kind.

    Example:
        >>> import torch
        >>> from polyhead.pretrained import make_llama
        >>> config = {
        ...     "model_type": "llama", "vocab_size": 11, "hidden_size": 6, "intermediate_size": 8,
        ...     "num_hidden_layers": 2, "num_attention_heads": 3, "hidden_act": "silu",
        ... }
        >>> model, ids = make_llama(config).eval(), torch.tensor([[3, 1, 4, 1, 5]])
        >>> torch.allclose(plant(model)(ids), model(ids), atol=1e-5)
        True
        >>> torch.allclose(plant(model, "unscaled", layers=[1])(ids), model(ids), atol=1e-5)
        False
    """
    kind = class_of(bug, PLANTABLE)
    numbers = range(len(model.decoder.layers))
    if layers is not None and not set(layers) <= set(numbers):
        raise ValueError(f"layers must be numbers from 0 to {numbers[-1]}, got {sorted(layers)}")
    healthy = _around(SmallDecoder, model)
    ill = _around(kind, model)
    if layers is not None:
        chosen = frozenset(layers)
        ill.decoder_of = lambda number: ill if number in chosen else healthy
    planted: SmallDecoder = ill
    return planted


class _Layer(SmallLayer):
    """A model's layer, under the names of a small one."""

    transform: Any

    def __init__(self, layer: Any) -> None:
        nn.Module.__init__(self)
        own: Any = self
        attention = layer.self_attention
        if layer.cross_attention is not None or attention.query_norm is not None or attention.rotary is None:
            raise ValueError("model must have Llama's layers, got other ones")
        own.attention_norm, own.ffn_norm = layer.self_residual.norm, layer.feed_forward_residual.norm
        own.transform, own.output, own.sinks = layer.feed_forward, attention.output_projection, None
        projection = attention.input_projection
        weights = projection.weight.detach().split(attention.sizes)
        biases = [None] * 3 if projection.bias is None else projection.bias.detach().split(attention.sizes)
        own.query, own.key, own.value = (
            partial(F.linear, weight=weight, bias=bias) for weight, bias in zip(weights, biases, strict=True)
        )

    def feed_forward(self, x: Tensor) -> Tensor:
        output: Tensor = self.transform(x)
        return output


def _around(kind: type[SmallDecoder], model: DecoderOnly) -> Any:
    """A small decoder with the parts of the model in place of its own."""
    decoder: Any = kind.__new__(kind)
    nn.Module.__init__(decoder)
    layers: Any = model.decoder.layers
    decoder.layers = nn.ModuleList(_Layer(layer) for layer in layers)
    attention = layers[0].self_attention
    decoder.embed_dim, decoder.head_dim = model.embed_dim, attention.head_dim
    decoder.num_heads, decoder.num_kv_heads = attention.num_heads, attention.num_kv_heads
    decoder.num_layers, decoder.window = len(layers), attention.window or math.inf
    decoder.softcap, decoder.dropout, decoder.table = None, 0.1, None
    decoder.embedding, decoder.rotary = model.embedding.tokens, attention.rotary
    decoder.norm, decoder.logits = model.decoder.norm, model.output
    return decoder.eval()
