"""A decoder as laws call it: by one set of names, whatever it calls its arguments and returns."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from torch import Tensor, nn

Decoder = Callable[..., Any]
_NAMES = {
    "mask": ("mask", "attention_mask", "padding_mask"),
    "cache": ("cache", "kv_cache"),
    "positions": ("positions", "position_ids"),
    "documents": ("documents", "document_ids"),
    "need_weights": ("need_weights",),
}


class NoLogits(TypeError):
    """A decoder gave something else: `expected` is the shape of logits, `came` what came."""

    def __init__(self, expected: tuple[object, ...], came: object) -> None:
        """Say both."""
        self.expected, self.came = expected, came
        kind = tuple(came.shape) if isinstance(came, Tensor) else type(came).__name__
        super().__init__(f"a decoder must give logits, {expected}, got {kind}")


class Examined:
    """A decoder as the laws call it, by one set of names; whatever it returns, what comes is logits.

    `calls` keeps the arguments of each call.
    """

    def __init__(self, decoder: Decoder, call: Callable[..., Any] | None = None) -> None:
        """Look at what the decoder takes; `call(decoder, token_ids, **options)` is how it is called."""
        forward = decoder.forward if isinstance(decoder, nn.Module) else decoder
        try:
            taken = set(inspect.signature(forward).parameters)
        except (TypeError, ValueError):
            taken = set()
        self._names = {
            role: next((name for name in names if name in taken), None) for role, names in _NAMES.items()
        }
        self.decoder, self._call = decoder, call or _called
        self.calls: list[dict[str, Any]] = []

    def takes(self, role: str) -> bool:
        """Whether the decoder has an argument for it."""
        return self._names[role] is not None and (role != "cache" or hasattr(self.decoder, "new_cache"))

    def new_cache(self) -> Any:
        """An empty cache for one batch of sequences."""
        return self._call(self.decoder.new_cache)  # type: ignore[attr-defined]

    def __call__(self, token_ids: Tensor, **options: Any) -> Tensor:
        """The logits, (batch, length, vocab_size).

        Raises:
            NoLogits: something else came.
        """
        self.calls.append({"token_ids": token_ids, **options})
        named = {str(self._names[role]): value for role, value in options.items()}
        output = self._call(self.decoder, token_ids.clone(), **named)
        output = getattr(output, "logits", output)
        output = output[0] if isinstance(output, tuple | list) and len(output) else output
        if not isinstance(output, Tensor) or output.ndim != 3 or output.shape[:2] != token_ids.shape:
            raise NoLogits((*token_ids.shape, "vocab_size"), output)
        return output.detach()


def _called(function: Callable[..., Any], *args: Any, **options: Any) -> Any:
    return function(*args, **options)
