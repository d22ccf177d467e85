"""What all loaders share: reading a configuration and a state dict, and saying what does not fit."""

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
    """A configuration of the package transformers."""

    def to_dict(self) -> dict[str, Any]:
        """What stands in its config.json."""


Config = Mapping[str, Any] | HuggingFaceConfig


class Settings:
    """A configuration, read with clear errors."""

    @checked
    def __init__(self, config: Config, model_type: str) -> None:
        if isinstance(config, type):  # it has a `to_dict`, too
            raise TypeError(f"config must be made with its settings, got the class {config.__name__}")
        self._values = config if isinstance(config, Mapping) else config.to_dict()
        self.must_be(model_type=model_type)

    def get(self, name: str, default: Any = None) -> Any:
        """The value; the default where there is none, or None."""
        value = self._values.get(name)
        return default if value is None else value

    def must_be(self, **expected: object) -> None:
        """Raise ValueError if there is another value; none is as good as the right one."""
        for name, right in expected.items():
            if (found := self.get(name, right)) != right:
                raise ValueError(f"config.{name} must be {right!r}, got {found!r}")

    def flag(self, name: str) -> bool:
        """True or False; False where there is none."""
        if not isinstance(found := self.get(name, False), bool):
            raise ValueError(f"config.{name} must be True or False, got {found!r}")
        return found

    def sizes(self, *names: str) -> list[int]:
        """Whole numbers of at least 1."""
        for name in names:
            if type(self.get(name)) is not int or self.get(name) < 1:
                raise ValueError(f"config.{name} must be an int of at least 1, got {self.get(name)!r}")
        return [self.get(name) for name in names]

    def activation(self, name: str) -> Activation:
        """Our name of Hugging Face's activation."""
        found = self.get(name)
        if not isinstance(found, str) or found not in _ACTIVATIONS:
            raise ValueError(f"config.{name} must be one of {', '.join(_ACTIVATIONS)}, got {found!r}")
        return _ACTIVATIONS[found]


Names = Mapping[str, str | tuple[str, ...]]  # the path of a part in our module: what it is called there


class StateDict:
    """A state dict whose tensors go into modules; what does not fit is collected, and told at the end."""

    @checked
    def __init__(self, state_dict: Mapping[str, Tensor], prefix: str, outside: tuple[str, ...] = ()) -> None:
        for key, value in state_dict.items():
            if not isinstance(key, str) or not isinstance(value, Tensor):
                kinds = f"{type(key).__name__} {key!r}: {type(value).__name__}"
                raise TypeError(f"state_dict must hold tensors under their names, got {kinds}")
        self._prefix = prefix if any(key.startswith(prefix) for key in state_dict) else ""
        self._tensors = {key.removeprefix(self._prefix): value for key, value in state_dict.items()}
        self._names = {key.removeprefix(self._prefix): key for key in state_dict}
        self._outside, self._used = outside, set[str]()
        self._problems: set[str] = set()
        self._dtypes: set[torch.dtype] = set()

    @property
    def dtype(self) -> torch.dtype:
        """The weights' dtype; of several, one that holds all of them."""
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
        """Fill the named parts of a module; the rows of several tensors for one part stand one after another.

        `at` stands before each name there; `transposed` matrices are kept as (in, out); of each tensor the
        first rows are left out, as many as `skip`. `rows` are those of several tensors, if not all the same.
        """
        for path, theirs in names.items():
            part = module.get_submodule(path)
            keys = (theirs,) if isinstance(theirs, str) else theirs
            for kind, parameter in part.named_parameters(recurse=False):
                total, *columns = parameter.shape
                counts = [total // len(keys)] * len(keys) if rows is None or len(keys) == 1 else rows
                shapes = [(count + skip, *columns) for count in counts]
                if transposed and isinstance(part, nn.Linear) and kind == "weight":
                    found = [
                        self._take(f"{at}{key}.{kind}", shape[::-1]).T
                        for key, shape in zip(keys, shapes, strict=True)
                    ]
                else:
                    found = [
                        self._take(f"{at}{key}.{kind}", shape)[skip:]
                        for key, shape in zip(keys, shapes, strict=True)
                    ]
                # The parameter takes their dtype, so that nothing is rounded.
                value = torch.cat(found).detach()
                parameter.data = parameter.data.to(value.dtype).copy_(value)

    def same(self, key: str, expected: Tensor) -> None:
        """Note a problem if what is stored a second time is not the same."""
        if key in self._tensors:
            found = self._take(key, tuple(expected.shape))
            if not torch.equal(found.to(expected.dtype), expected.detach()):
                self._problem(key, "must equal the embedding, whose table it shares")

    def finish(self, left_out: tuple[str, ...]) -> None:
        """Raise ValueError if anything did not fit, or is left over, but for names that begin or end so."""
        for key in self._tensors.keys() - self._used:
            if not key.startswith(left_out) and not key.endswith(left_out):
                self._problem(key, "is unknown")
        if self._problems:
            raise ValueError("state_dict does not fit config: " + "; ".join(sorted(self._problems)))

    def _take(self, key: str, shape: tuple[int, ...]) -> Tensor:
        self._used.add(key)
        found = self._tensors.get(key)
        if found is None:
            self._problem(key, f"is missing, expected shape {shape}")
        elif found.shape != shape:
            self._problem(key, f"must have shape {shape}, got {tuple(found.shape)}")
        elif not found.is_floating_point() or found.dtype.itemsize < 2:
            self._problem(key, f"must have a floating dtype such as torch.float32, got {found.dtype}")
        elif found.is_meta or found.layout != torch.strided:
            self._problem(key, f"must be dense and hold numbers, got {found.layout} on {found.device}")
        else:
            self._dtypes.add(found.dtype)
            return found
        return torch.zeros(shape)

    def _problem(self, key: str, what: str) -> None:
        prefix = "" if key.startswith(self._outside) else self._prefix
        self._problems.add(f"{self._names.get(key, prefix + key)} {what}")
