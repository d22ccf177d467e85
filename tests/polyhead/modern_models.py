"""transformers' Llama and Qwen3, small, random, and in float64 throughout where that is asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import pytest
import torch
from torch import Tensor, nn

from polyhead.pretrained import load_llama, load_qwen3
from tests.polyhead.hugging_face import transformers

VOCAB, LENGTH, ORIGINAL = 97, 23, 7
IDS = torch.randint(3, VOCAB, (3, LENGTH), generator=torch.Generator().manual_seed(0))
LEFT = torch.arange(LENGTH) >= torch.tensor([[0], [5], [LENGTH - 1]])  # padding left
PLACES = (LEFT.cumsum(dim=1) - 1).clamp(min=0)
LLAMA3 = {
    "rope_type": "llama3", "rope_theta": 500.0, "factor": 8.0, "low_freq_factor": 1.0,
    "high_freq_factor": 4.0, "original_max_position_embeddings": ORIGINAL,
}  # fmt: skip
# Two heads of keys for six of queries, of a size that is not 36 / 6.
SETTINGS = {
    "vocab_size": VOCAB,
    "hidden_size": 36,
    "intermediate_size": 41,
    "num_hidden_layers": 2,
    "num_attention_heads": 6,
    "num_key_value_heads": 2,
    "head_dim": 10,
    "rms_norm_eps": 0.01,  # large enough to show
    "rope_parameters": {"rope_type": "default", "rope_theta": 500.0},
}


class Modern(NamedTuple):
    """One kind of model there, and our loader."""

    config: type
    model: type
    load: Callable[..., nn.Module]
    modules: Any

    def make(self, dtype: torch.dtype = torch.float64, **changes: Any) -> nn.Module:
        """Their model; every parameter is random, those too that begin at 0 or 1."""
        config = self.config(**SETTINGS | changes, attn_implementation="eager")
        made = self.model(config).to(dtype).eval()
        with torch.no_grad():
            for parameter in made.parameters():
                parameter += torch.randn_like(parameter) * (0.3 if parameter.ndim == 1 else 0.2)
        return made

    def stored(self, **changes: Any) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """A state dict and its configuration."""
        model = self.make(**changes)
        return dict(model.state_dict()), model.config.to_dict()


MODERN = {
    "llama": Modern(
        transformers.LlamaConfig,
        transformers.LlamaForCausalLM,
        load_llama,
        transformers.models.llama.modeling_llama,
    ),
    "qwen3": Modern(
        transformers.Qwen3Config,
        transformers.Qwen3ForCausalLM,
        load_qwen3,
        transformers.models.qwen3.modeling_qwen3,
    ),
}


class _Wide:
    """torch, in whose float32 there is room for float64."""

    float = float32 = torch.float64

    def __getattr__(self, name: str) -> Any:
        return getattr(torch, name)


@contextmanager
def exactly(dtype: torch.dtype) -> Iterator[None]:
    """In float64, transformers' own code rounds nothing to float32, as it does in norms and angles."""
    with pytest.MonkeyPatch.context() as patch:
        if dtype == torch.float64:
            for family in MODERN.values():
                patch.setattr(family.modules, "torch", _Wide())
            patch.setattr(transformers.modeling_rope_utils, "torch", _Wide())
        yield
