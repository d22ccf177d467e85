"""A decoder under one set of argument names, whatever its own names and outputs are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch import Tensor

from attention_clinic.arguments import DECODER, named_parameters

Decoder = Callable[..., Any]


class NoLogits(TypeError):
    """A decoder's output has not the shape of logits.

    `expected` is that shape, `output` what the decoder returned.
    """

    def __init__(self, expected: tuple[object, ...], output: object) -> None:
        """Take both."""
        self.expected, self.output = expected, output
        kind = tuple(output.shape) if isinstance(output, Tensor) else type(output).__name__
        super().__init__(f"a decoder must give logits, {expected}, got {kind}")


class DecoderAdapter:
    """A decoder with one set of argument names, that of `arguments.DECODER`, and with logits as its output.

    `calls` keeps the arguments of each call.

    Example:
        >>> import torch
        >>> decoder = DecoderAdapter(lambda input_ids: torch.zeros(*input_ids.shape, 7))
        >>> decoder(torch.tensor([[3, 1]])).shape, decoder.takes("mask")
        (torch.Size([1, 2, 7]), False)
    """

    def __init__(self, decoder: Decoder, call: Callable[..., Any] | None = None) -> None:
        """Read the signature; `call(decoder, token_ids, **options)` is how the decoder is called."""
        parameters = named_parameters(decoder, DECODER)
        self._names = {role: parameter.name for role, parameter in parameters.items()}
        self.decoder, self._call = decoder, call or _call
        self.calls: list[dict[str, Any]] = []

    def takes(self, role: str) -> bool:
        """Whether the decoder has a parameter for a role."""
        return role in self._names and (role != "cache" or hasattr(self.decoder, "new_cache"))

    def new_cache(self) -> Any:
        """An empty cache for one batch of sequences."""
        return self._call(self.decoder.new_cache)  # type: ignore[attr-defined]

    def __call__(self, token_ids: Tensor, **options: Any) -> Tensor:
        """The logits, (batch, length, vocab_size).

        Raises:
            NoLogits: the output is something else.
        """
        self.calls.append({"token_ids": token_ids, **options})
        named = {self._names[role]: value for role, value in options.items()}
        output = self._call(self.decoder, token_ids.clone(), **named)
        output = getattr(output, "logits", output)
        output = output[0] if isinstance(output, tuple | list) and len(output) else output
        if not isinstance(output, Tensor) or output.ndim != 3 or output.shape[:2] != token_ids.shape:
            raise NoLogits((*token_ids.shape, "vocab_size"), output)
        return output.detach()


def _call(function: Callable[..., Any], *args: Any, **options: Any) -> Any:
    return function(*args, **options)
