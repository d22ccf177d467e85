"""A module to examine: an instance of a class or factory, copied, with random parameters."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Iterator
from typing import Any

import torch
from torch import nn

from attention_clinic.arguments import plain, roles, signature
from attention_clinic.kinds.projections import COUNTS
from attention_clinic.trial import Trial
from polyhead.modes import evaluation_mode

MAKING = roles(
    embed_dim="d_model dim num_hiddens hidden_size n_embd dim_model width model_dim size d_in",
    num_heads=" ".join(COUNTS),
    dropout="attn_drop p dropout_p attention_dropout",
    output_dim="d_out",
    batch_first="",
)


def build_module(trial: Trial) -> nn.Module | None:
    """Build a module of 12 features and 3 heads with a class or factory; None if that is not possible."""
    parameters = signature(trial.candidate) or []
    arguments: dict[str, Any] = {}
    for role, value in (
        ("embed_dim", 12),
        ("num_heads", 3),
        ("dropout", 0.0),
        ("output_dim", 12),
        ("batch_first", True),
    ):
        arguments |= {p.name: value for p in parameters if plain(p.name) in MAKING[role]}
    needed = {p.name for p in parameters if p.default is p.empty and p.kind is not p.VAR_POSITIONAL}
    if needed - {*arguments} or (
        not isinstance(trial.candidate, type) and len(arguments) < min(2, len(parameters))
    ):
        return None
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        module = trial.call(trial.candidate, **arguments)
    return module if isinstance(module, nn.Module) else None


@contextlib.contextmanager
def evaluation_copy(module: nn.Module) -> Iterator[nn.Module]:
    """A copy with random parameters, in evaluation mode; where it cannot be copied the module itself."""
    try:
        own = copy.deepcopy(module)
    except Exception:
        with evaluation_mode(module):
            yield module
        return
    generator = torch.Generator().manual_seed(1)
    for parameter in own.parameters():
        if not nn.parameter.is_lazy(parameter) and parameter.is_floating_point():
            scale = (parameter.numel() / len(parameter)) ** -0.5 if parameter.ndim > 1 else 0.5
            with torch.no_grad():
                parameter.copy_(torch.randn(parameter.shape, generator=generator) * 1.3 * scale)
    yield own.eval()
