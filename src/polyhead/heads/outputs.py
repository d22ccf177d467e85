"""The outputs of heads before W_O: recorded, and replaced by others; and other heads to compare with."""

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from polyhead.checked import checked
from polyhead.heads.removal import Head, Layer, all_heads, attentions, check_heads, hooked
from polyhead.multi_head.fused import MultiHeadAttention


@contextmanager
@checked
def head_outputs(model: nn.Module) -> Iterator[dict[Head, Tensor]]:
    """Record what each head passes to W_O in the last call of the model inside the block.

    The record fills in that call: for each head its weights · values, (batch, num_queries, head_dim), as
    `ablate` and `replace_outputs` leave it, whose blocks must be around this one. What `torch.compile` has
    compiled runs uncompiled inside the block.

    >>> from polyhead import Encoder
    >>> encoder = Encoder(1, embed_dim=6, num_heads=2)
    >>> with head_outputs(encoder) as outputs:
    ...     _ = encoder(torch.ones(1, 5, 6))
    >>> outputs[Head("encoder", 0, 1)].shape
    torch.Size([1, 5, 3])
    """
    outputs: dict[Head, Tensor] = {}

    def record(layer: Layer, heads: Tensor) -> None:
        outputs.update({Head(*layer, head): output for head, output in enumerate(heads.unbind(dim=-2))})

    with _before_projection(model, record):
        yield outputs


@contextmanager
@checked
def replace_outputs(model: nn.Module, outputs: Mapping[Head, Tensor]) -> Iterator[None]:
    """Put other outputs in the place of those of some heads, in all calls of the model inside the block.

    With a head's mean output it is *mean ablation*, which keeps what the head adds to every text (Wang et al.
    2022); with the outputs for another text, *activation patching* (Vig et al. 2020; Meng et al. 2022). In
    nested blocks the inner one counts, and it counts more than `ablate`. What `torch.compile` has compiled
    runs uncompiled inside the block.

    Args:
        model: as for `all_heads`.
        outputs: for each head what takes the place of its output, as `head_outputs` gives it; it broadcasts
            to (batch, num_queries, head_dim).

    Raises:
        ValueError: The model lacks one of the heads, or in a call the shapes do not fit.

    >>> from polyhead import Encoder
    >>> encoder, head = Encoder(1, embed_dim=6, num_heads=2).eval(), Head("encoder", 0, 1)
    >>> with head_outputs(encoder) as outputs:
    ...     _ = encoder(torch.randn(7, 5, 6))
    >>> with replace_outputs(encoder, {head: outputs[head].mean(dim=(0, 1))}):
    ...     output, _ = encoder(torch.ones(1, 5, 6))
    """
    check_heads(model, outputs)

    def replace(layer: Layer, heads: Tensor) -> Tensor:
        parts = list(heads.unbind(dim=-2))
        for kind, number, head in outputs:
            if (kind, number) == layer:
                part, output = parts[head], outputs[Head(kind, number, head)]
                try:
                    parts[head] = output.to(part).expand_as(part)
                except RuntimeError:
                    shapes = f"{tuple(part.shape)}, got {tuple(output.shape)}"
                    name = f"{kind} {number}, head {head}"
                    raise ValueError(f"outputs of {name} must broadcast to {shapes}") from None
        return torch.stack(parts, dim=-2) if parts else heads

    with _before_projection(model, replace):
        yield


@contextmanager
def _before_projection(model: nn.Module, see: Callable[[Layer, Tensor], Tensor | None]) -> Iterator[None]:
    """Show each layer's heads, (batch, num_queries, num_heads, head_dim); replace them by what comes back."""

    def hook(layer: Layer, attention: MultiHeadAttention, module: nn.Module, inputs: tuple[Tensor]) -> Any:
        new = see(layer, torch.unflatten(inputs[0], -1, (attention.num_heads, attention.head_dim)))
        return None if new is None else (new.flatten(-2),)

    with hooked(
        attention.output_projection.register_forward_pre_hook(partial(hook, layer, attention))
        for layer, attention in attentions(model).items()
    ):
        yield


@checked
def control_heads(
    model: nn.Module, heads: Collection[Head], generator: torch.Generator, exclude: Collection[Head] = ()
) -> list[Head]:
    """Draw as many other heads of the same layers: a control, whose removal costs what removal alone costs.

    Args:
        model: as for `all_heads`.
        heads: the heads whose effect is to be compared.
        generator: draws; the same for the same state.
        exclude: more heads that are not drawn, as those with the same pattern.

    Raises:
        ValueError: The model lacks one of the heads, or a layer has too few others.

    >>> from polyhead import Encoder
    >>> encoder, heads = Encoder(1, embed_dim=6, num_heads=3), [Head("encoder", 0, 1)]
    >>> control_heads(encoder, heads, torch.Generator().manual_seed(0), exclude=[Head("encoder", 0, 0)])
    [Head(kind='encoder', layer=0, head=2)]
    """
    heads, chosen = check_heads(model, heads), []
    unfit = heads | check_heads(model, exclude)
    for layer, count in Counter(head[:2] for head in sorted(heads)).items():
        others = [head for head in all_heads(model) if head[:2] == layer and head not in unfit]
        if len(others) < count:
            name = " ".join(map(str, layer))
            raise ValueError(f"{name} must have at least {count} other heads, got {len(others)}")
        order = torch.randperm(len(others), generator=generator)[:count].tolist()
        chosen += [others[number] for number in order]
    return chosen
