"""What all loaders share: reading a configuration and a state dict, and saying what does not fit."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import reduce
from typing import Any, Protocol, runtime_checkable

import torch
from torch import Tensor, nn

from polyhead import _validate
from polyhead.decoder import Decoder, DecoderLayer
from polyhead.embedding import TokenEmbedding
from polyhead.encoder import Encoder, EncoderLayer
from polyhead.feed_forward import Activation
from polyhead.multi_head.fused import MultiHeadAttention
from polyhead.positions import LearnedPositions

# Hugging Face's names of the activations: https://huggingface.co/docs/transformers
_ACTIVATIONS: dict[str, Activation] = {
    "gelu": "gelu",
    "gelu_new": "gelu_tanh",
    "gelu_pytorch_tanh": "gelu_tanh",
    "relu": "relu",
    "silu": "silu",
    "swish": "silu",
}


@runtime_checkable
class _HasDict(Protocol):
    def to_dict(self) -> dict[str, Any]: ...


Config = Mapping[str, Any] | _HasDict


class Settings:
    """A configuration, read with clear errors."""

    def __init__(self, config: Config, model_type: str) -> None:
        read = config if isinstance(config, Mapping) else getattr(config, "to_dict", None)
        if read is None or isinstance(config, type):
            raise TypeError(f"config must be a mapping or a transformers config, got {type(config).__name__}")
        self._values: Mapping[str, Any] = read if isinstance(read, Mapping) else read()
        self.must_be("model_type", model_type)

    def get(self, name: str, default: Any = None) -> Any:
        """The value; the default where there is none, or None."""
        value = self._values.get(name)
        return default if value is None else value

    def must_be(self, name: str, expected: object) -> None:
        """Raise ValueError if there is another value."""
        found = self.get(name, expected)
        if found != expected:
            raise ValueError(f"config.{name} must be {expected!r}, got {found!r}")

    def size(self, name: str, default: int | None = None) -> int:
        """A whole number of at least 1."""
        return _validate.at_least(f"config.{name}", self.get(name, default))

    def number(self, name: str, default: float) -> float:
        """A number of at least 0."""
        return _validate.at_least_zero(f"config.{name}", self.get(name, default))

    def activation(self, name: str) -> Activation:
        """Our name of Hugging Face's activation."""
        found = self.get(name)
        if not isinstance(found, str) or found not in _ACTIVATIONS:
            raise ValueError(f"config.{name} must be one of {', '.join(_ACTIVATIONS)}, got {found!r}")
        return _ACTIVATIONS[found]


class StateDict:
    """A state dict whose tensors go into modules; what does not fit is collected, and told at the end."""

    def __init__(self, state_dict: Mapping[str, Tensor], prefix: str) -> None:
        if not isinstance(state_dict, Mapping):
            raise TypeError(f"state_dict must be a mapping, got {type(state_dict).__name__}")
        for key, value in state_dict.items():
            if not isinstance(key, str):
                raise TypeError(f"state_dict must have names as keys, got {type(key).__name__} {key!r}")
            if not isinstance(value, Tensor):
                raise TypeError(f"state_dict[{key!r}] must be a torch.Tensor, got {type(value).__name__}")
        self._prefix = prefix if any(key.startswith(prefix) for key in state_dict) else ""
        self._tensors = {key.removeprefix(self._prefix): value for key, value in state_dict.items()}
        self._names = {key.removeprefix(self._prefix): key for key in state_dict}
        self._used: set[str] = set()
        self._problems: list[str] = []
        self._dtypes: set[torch.dtype] = set()

    @property
    def dtype(self) -> torch.dtype:
        """The weights' dtype; of several, one that holds all of them."""
        return reduce(torch.promote_types, self._dtypes) if self._dtypes else torch.float32

    def table(self, table: nn.Embedding | None, name: str, skip: int = 0) -> None:
        """Fill an embedding, leaving out the first `skip` rows."""
        assert table is not None
        rows, columns = table.weight.shape
        _fill(table.weight, self._take(f"{name}.weight", (rows + skip, columns))[skip:])

    def norm(self, norm: nn.LayerNorm | None, name: str) -> None:
        """Fill a norm's weight and bias."""
        assert norm is not None
        for kind, parameter in (("weight", norm.weight), ("bias", norm.bias)):
            _fill(parameter, self._take(f"{name}.{kind}", tuple(parameter.shape)))

    def linear(self, layer: nn.Linear, *names: str, transposed: bool = False) -> None:
        """Fill weight and bias; the rows of several names stand one after another."""
        rows, columns = layer.out_features // len(names), layer.in_features
        shape = (columns, rows) if transposed else (rows, columns)
        weights = [self._take(f"{name}.weight", shape) for name in names]
        biases = [self._take(f"{name}.bias", (rows,)) for name in names]
        _fill(layer.weight, torch.cat([weight.T if transposed else weight for weight in weights]))
        _fill(layer.bias, torch.cat(biases))

    def attention(self, module: MultiHeadAttention, inputs: Sequence[str], output: str) -> None:
        """Fill a whole attention: query, key and value in one projection, and the output."""
        self.linear(module.input_projection, *inputs)
        self.linear(module.output_projection, output)

    def same(self, key: str, expected: Tensor) -> None:
        """Note a problem if what is stored a second time is not the same."""
        if key in self._tensors:
            found = self._take(key, tuple(expected.shape))
            if not torch.equal(found.to(expected.dtype), expected.detach()):
                self._problem(key, "must equal the embedding, whose table it shares")

    def finish(self, left_out: Callable[[str], bool]) -> None:
        """Raise ValueError if anything was missing, of another shape, or is left over."""
        for key in self._tensors.keys() - self._used:
            if not left_out(key):
                self._problem(key, "is unknown")
        if self._problems:
            raise ValueError("state_dict does not fit config: " + "; ".join(sorted(set(self._problems))))

    def _take(self, key: str, shape: tuple[int, ...]) -> Tensor:
        self._used.add(key)
        found = self._tensors.get(key)
        if found is None:
            self._problem(key, f"is missing, expected shape {shape}")
        elif _validate.shape(found) != shape:
            self._problem(key, f"must have shape {shape}, got {_validate.shape(found)}")
        elif not found.is_floating_point() or found.dtype.itemsize < 2:
            self._problem(key, f"must have a floating dtype such as torch.float32, got {found.dtype}")
        elif found.is_meta or found.layout != torch.strided:
            self._problem(key, f"must be dense and hold numbers, got {found.layout} on {found.device}")
        else:
            self._dtypes.add(found.dtype)
            return found
        return torch.zeros(shape)

    def _problem(self, key: str, what: str) -> None:
        self._problems.append(f"{self._names.get(key, self._prefix + key)} {what}")


def _fill(parameter: Tensor, value: Tensor) -> None:
    """Copy the numbers; the parameter takes their dtype, so that nothing is rounded."""
    parameter.data = parameter.data.to(value.dtype).copy_(value.detach())


def position_table(embedding: TokenEmbedding) -> nn.Embedding:
    """The table of learned positions."""
    assert isinstance(embedding.positions, LearnedPositions)
    return embedding.positions.table


def encoder_layers(encoder: Encoder) -> Iterator[EncoderLayer]:
    """The layers, with their type."""
    for layer in encoder.layers:
        assert isinstance(layer, EncoderLayer)
        yield layer


def decoder_layers(decoder: Decoder) -> Iterator[DecoderLayer]:
    """The layers, with their type."""
    for layer in decoder.layers:
        assert isinstance(layer, DecoderLayer)
        yield layer
