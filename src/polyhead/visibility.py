"""Which keys each query may see: mask, causality and window, combined once per attention call."""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from polyhead.masks import broadcast_mask, causal_mask, window_mask


class Visibility(NamedTuple):
    """Either the fused kernel's causal flag, or one boolean mask; with neither, every query sees all keys.

    `mask` broadcasts to (batch, num_heads, num_queries, num_keys), True = may attend. `is_causal` is set
    only where there is no mask and as many queries as keys: the kernel's flag aligns its triangle at the
    upper left, and lets the kernel do without any matrix.

    >>> Visibility.combine((1, 2, 3, 3), None, is_causal=True)
    Visibility(mask=None, is_causal=True)
    >>> Visibility.combine((1, 2, 1, 3), torch.tensor([True, True, False]), is_causal=True)
    Visibility(mask=tensor([[[[ True,  True, False]]]]), is_causal=False)
    """

    mask: Tensor | None = None
    is_causal: bool = False

    @classmethod
    def combine(
        cls,
        shape: Sequence[int],
        mask: Tensor | None,
        is_causal: bool,
        window: int | None = None,
        positions: Tensor | None = None,
        device: torch.device | None = None,
        need_mask: bool = False,
    ) -> "Visibility":
        """Allow what mask, causality and window all allow, for scores of this shape.

        Args:
            shape: (batch, num_heads, num_queries, num_keys); the queries are the last of the keys.
            mask: what broadcasts to `shape`, or (batch, num_queries, num_keys).
            is_causal: whether later keys are hidden.
            window: how many keys a query sees at most, itself included; only for causal use.
            positions: of all keys, (num_keys,) or (batch, num_keys): what the window counts. Without them it
                counts keys.
            device: where to build a mask.
            need_mask: never set the flag, for a softmax that is not the kernel's.
        """
        num_queries, num_keys = shape[-2:]
        # The mask is not expanded: the kernel would turn each of its numbers into a floating one.
        mask = None if mask is None else broadcast_mask(mask, shape)
        if window is not None and positions is not None:
            distances = positions[..., num_keys - num_queries :, None] - positions[..., None, :]
            seen = (distances < window) & causal_mask(num_queries, num_keys).to(device)
        elif window is not None and num_keys > window:
            seen = window_mask(num_queries, window, num_keys).to(device)
        elif not is_causal or num_queries == 1:  # the last token alone sees all
            return cls(mask)
        elif mask is None and num_queries == num_keys and not need_mask:
            return cls(is_causal=True)
        else:
            seen = causal_mask(num_queries, num_keys).to(device)
        seen = broadcast_mask(seen, shape)
        return cls(seen if mask is None else mask & seen)
