"""Configurations and state dicts in Hugging Face's format, read with errors for all that does not match."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Any, Protocol, runtime_checkable

import torch
from torch import Tensor, nn

from polyhead.checked import checked
from polyhead.feed_forward import Activation

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
class HuggingFaceConfig(Protocol):
    """A configuration of the package transformers.

    >>> isinstance({"model_type": "bert"}, HuggingFaceConfig)
    False
    """

    def to_dict(self) -> dict[str, Any]:
        """Return the contents of its config.json."""


Config = Mapping[str, Any] | HuggingFaceConfig


class Settings:
    """A configuration, read with clear errors.

    >>> settings = Settings({"model_type": "bert", "hidden_size": 6}, "bert")
    >>> settings.sizes("hidden_size")
    [6]
    >>> settings.sizes("vocab_size")
    Traceback (most recent call last):
    ValueError: config.vocab_size must be an int of at least 1, got None
    """

    @checked
    def __init__(self, config: Config, model_type: str) -> None:
        if isinstance(config, type):  # it has a `to_dict`, too
            raise TypeError(f"config must be an instance, got the class {config.__name__}")
        self._values = config if isinstance(config, Mapping) else config.to_dict()
        self.must_be(model_type=model_type)

    def get(self, name: str, default: Any = None) -> Any:
        """Return a value, or the default if it is missing or None."""
        value = self._values.get(name)
        return default if value is None else value

    def must_be(self, **expected: object) -> None:
        """Raise ValueError if a value differs from the expected one; a missing value does not."""
        for name, value in expected.items():
            if (actual := self.get(name, value)) != value:
                raise ValueError(f"config.{name} must be {value!r}, got {actual!r}")

    def flag(self, name: str) -> bool:
        """Return True or False; False if the value is missing."""
        if not isinstance(value := self.get(name, False), bool):
            raise ValueError(f"config.{name} must be True or False, got {value!r}")
        return value

    def sizes(self, *names: str) -> list[int]:
        """Return values that are integers of at least 1."""
        for name in names:
            if type(self.get(name)) is not int or self.get(name) < 1:
                raise ValueError(f"config.{name} must be an int of at least 1, got {self.get(name)!r}")
        return [self.get(name) for name in names]

    def activation(self, name: str) -> Activation:
        """Return our name of the activation."""
        theirs = self.get(name)
        if not isinstance(theirs, str) or theirs not in _ACTIVATIONS:
            raise ValueError(f"config.{name} must be one of {', '.join(_ACTIVATIONS)}, got {theirs!r}")
        return _ACTIVATIONS[theirs]


Names = Mapping[str, str | tuple[str, ...]]  # the path of a part in our module: its name or names there


class StateDict:
    """A state dict whose tensors are copied into modules; `check_complete` reports all problems at once.

    >>> weights, linear = StateDict({"lm_head.weight": torch.ones(3, 2)}, prefix="model."), nn.Linear(2, 3)
    >>> weights.fill(linear, "", {"": "lm_head"})
    >>> weights.check_complete(())
    Traceback (most recent call last):
    ValueError: state_dict does not fit config: lm_head.bias is missing, expected shape (3,)
    """

    @checked
    def __init__(self, state_dict: Mapping[str, Tensor], prefix: str, outside: tuple[str, ...] = ()) -> None:
        for key, value in state_dict.items():
            if not isinstance(key, str) or not isinstance(value, Tensor):
                kinds = f"{type(key).__name__} {key!r}: {type(value).__name__}"
                raise TypeError(f"state_dict must map names to tensors, got {kinds}")
        self._prefix = prefix if any(key.startswith(prefix) for key in state_dict) else ""
        self._tensors = {key.removeprefix(self._prefix): value for key, value in state_dict.items()}
        self._names = {key.removeprefix(self._prefix): key for key in state_dict}
        self._outside, self._used = outside, set[str]()
        self._problems: set[str] = set()
        self._dtypes: set[torch.dtype] = set()

    @property
    def dtype(self) -> torch.dtype:
        """The dtype of the weights; of several, the one to which PyTorch promotes them."""
        return reduce(torch.promote_types, self._dtypes) if self._dtypes else torch.float32

    def fill(
        self,
        module: nn.Module,
        at: str,
        names: Names,
        transposed: bool = False,
        skip: int = 0,
        rows: Sequence[int] | None = None,
    ) -> None:
        """Copy tensors into the named parts of a module; several tensors for one part are concatenated.

        Args:
            module: the module with the parts.
            at: a prefix of all names in the state dict.
            names: maps our parts to their names.
            transposed: whether the matrices of linear layers are stored as (in, out).
            skip: the number of rows to leave out at the beginning of each tensor.
            rows: the number of rows in each of several tensors, if they differ.
        """
        for path, theirs in names.items():
            part = module.get_submodule(path)
            keys = (theirs,) if isinstance(theirs, str) else theirs
            for kind, parameter in part.named_parameters(recurse=False):
                total, *columns = parameter.shape
                counts = [total // len(keys)] * len(keys) if rows is None or len(keys) == 1 else rows
                flipped = transposed and isinstance(part, nn.Linear) and kind == "weight"
                tensors = []
                for key, count in zip(keys, counts, strict=True):
                    shape = (count + skip, *columns)
                    tensor = self._tensor(f"{at}{key}.{kind}", shape[::-1] if flipped else shape)
                    tensors.append((tensor.T if flipped else tensor)[skip:])
                # The parameter gets their dtype, so that nothing is rounded.
                value = torch.cat(tensors).detach()
                parameter.data = parameter.data.to(value.dtype).copy_(value)

    def check_equal(self, key: str, expected: Tensor) -> None:
        """Report a problem if the state dict has a second copy of a shared tensor that differs from it."""
        if key in self._tensors:
            second = self._tensor(key, tuple(expected.shape))
            if not torch.equal(second.to(expected.dtype), expected.detach()):
                self._problem(key, "must equal the embedding, whose table it shares")

    def check_complete(self, ignored: tuple[str, ...]) -> None:
        """Raise ValueError for problems and unused tensors; `ignored` are prefixes and suffixes of names."""
        for key in self._tensors.keys() - self._used:
            if not key.startswith(ignored) and not key.endswith(ignored):
                self._problem(key, "is unknown")
        if self._problems:
            raise ValueError("state_dict does not fit config: " + "; ".join(sorted(self._problems)))

    def _tensor(self, key: str, shape: tuple[int, ...]) -> Tensor:
        """The tensor of that name; if it does not match, a problem is noted, and zeros take its place."""
        self._used.add(key)
        tensor = self._tensors.get(key)
        if tensor is None:
            self._problem(key, f"is missing, expected shape {shape}")
        elif tensor.shape != shape:
            self._problem(key, f"must have shape {shape}, got {tuple(tensor.shape)}")
        elif not tensor.is_floating_point() or tensor.dtype.itemsize < 2:
            self._problem(key, f"must have a floating dtype such as torch.float32, got {tensor.dtype}")
        elif tensor.is_meta or tensor.layout != torch.strided:
            self._problem(key, f"must be dense and hold numbers, got {tensor.layout} on {tensor.device}")
        else:
            self._dtypes.add(tensor.dtype)
            return tensor
        return torch.zeros(shape)

    def _problem(self, key: str, what: str) -> None:
        prefix = "" if key.startswith(self._outside) else self._prefix
        self._problems.add(f"{self._names.get(key, prefix + key)} {what}")
