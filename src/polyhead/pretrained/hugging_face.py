"""Configurations and state dicts in Hugging Face's format, read with errors for all that does not match."""

from collections.abc import Iterator, Mapping
from functools import reduce
from typing import Any, NamedTuple, Protocol, TypeVar, runtime_checkable

import torch
from torch import Tensor, nn

from polyhead.checked import checked
from polyhead.feed_forward import Activation

Model = TypeVar("Model", bound=nn.Module)

# Hugging Face's names of the activations: https://huggingface.co/docs/transformers
_ACTIVATIONS: dict[str, Activation] = {
    "gelu": "gelu", "gelu_new": "gelu_tanh", "gelu_pytorch_tanh": "gelu_tanh", "relu": "relu",
    "silu": "silu", "swish": "silu",
}  # fmt: skip


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


class Layout(NamedTuple):
    """Where a state dict has the parts of our model: a model's other formats are other layouts.

    Attributes:
        prefix: what stands before all names, but for "lm_head.", in the file of a model for a task.
        parts: the path of each part in our model: its name there, or the names of several tensors that are
            concatenated. `*` is the number of a layer.
        copies: names of second copies of a shared table, which may be missing: the part that they equal.
        ignored: prefixes and suffixes of names to leave out.
        transposed: whether the matrices of linear layers are stored as (in, out).
        unused_positions: how many rows precede that of position 0 in a table of positions.

    >>> Layout("model.", {"decoder.layers.*.feed_forward.gate": "layers.*.mlp.gate_proj"}).transposed
    False
    """

    prefix: str
    parts: Mapping[str, str | tuple[str, ...]]
    copies: Mapping[str, str] = {}
    ignored: tuple[str, ...] = ()
    transposed: bool = False
    unused_positions: int = 0


def query_key_value(attention: str) -> tuple[str, ...]:
    """Give the usual names of the three projections that our attention has in one.

    >>> query_key_value("self_attn")
    ('self_attn.q_proj', 'self_attn.k_proj', 'self_attn.v_proj')
    """
    return tuple(f"{attention}.{letter}_proj" for letter in "qkv")


def load_weights(model: Model, state_dict: Mapping[str, Tensor], layout: Layout) -> Model:
    """Load a state dict into a model, and return the model in evaluation mode, with the weights' dtype.

    >>> load_weights(nn.Sequential(nn.Linear(2, 3)), {"fc.weight": torch.ones(3, 2)}, Layout("", {"0": "fc"}))
    Traceback (most recent call last):
    ValueError: state_dict does not fit config: fc.bias is missing, expected shape (3,)
    """
    weights = _StateDict(state_dict, layout.prefix)
    for path, names in _numbered(layout.parts, model):
        part = model.get_submodule(path)
        skip = layout.unused_positions if path.endswith("positions.table") else 0
        for kind, parameter in list(part.named_parameters(recurse=False)):
            total, *columns = parameter.shape
            attention: Any = model.get_submodule(path.rpartition(".")[0])
            rows = [total] if len(names) == 1 else attention.sizes
            flipped = layout.transposed and isinstance(part, nn.Linear) and kind == "weight"
            tensors = []
            for name, count in zip(names, rows, strict=True):
                shape = (count + skip, *columns)
                tensor = weights.take(f"{name}.{kind}", shape[::-1] if flipped else shape)
                tensors.append((tensor.T if flipped else tensor)[skip:])
            # A copy, and with their dtype, so that nothing is rounded.
            copied = torch.cat(tensors).detach().contiguous().to(torch.get_default_device())
            setattr(part, kind, nn.Parameter(copied, parameter.requires_grad))
    for key, path in layout.copies.items():
        weights.check_equal(key, model.get_parameter(f"{path}.weight"))
    weights.check_complete(layout.ignored)
    return model.to(reduce(torch.promote_types, {each.dtype for each in model.parameters()})).eval()


def _numbered(
    parts: Mapping[str, str | tuple[str, ...]], model: nn.Module
) -> Iterator[tuple[str, list[str]]]:
    """Give each part's path and names, with `*` replaced by the number of each of the model's layers."""
    for path, names in parts.items():
        layers, star, _ = path.partition(".*.")
        for number in range(len([*model.get_submodule(layers).children()]) if star else 1):
            each_name = [names] if isinstance(names, str) else names
            yield path.replace("*", str(number)), [name.replace("*", str(number)) for name in each_name]


class _StateDict:
    """A state dict from which tensors are taken; `check_complete` reports all problems at once."""

    def __init__(self, state_dict: Mapping[str, Tensor], prefix: str) -> None:
        if not isinstance(state_dict, Mapping):
            raise TypeError(f"state_dict must map names to tensors, got {type(state_dict).__name__}")
        for key, value in state_dict.items():
            if not isinstance(key, str) or not isinstance(value, Tensor):
                kinds = f"{type(key).__name__} {key!r}: {type(value).__name__}"
                raise TypeError(f"state_dict must map names to tensors, got {kinds}")
        self._prefix = prefix if any(key.startswith(prefix) for key in state_dict) else ""
        self._tensors = {key.removeprefix(self._prefix): value for key, value in state_dict.items()}
        self._names = {key.removeprefix(self._prefix): key for key in state_dict}
        self._used, self._problems = set[str](), set[str]()

    def take(self, key: str, shape: tuple[int, ...]) -> Tensor:
        """The tensor of that name; if it does not match, a problem is noted, and zeros take its place."""
        self._used.add(key)
        tensor = self._tensors.get(key)
        if tensor is None:
            self._note(key, f"is missing, expected shape {shape}")
        elif tensor.shape != shape:
            self._note(key, f"must have shape {shape}, got {tuple(tensor.shape)}")
        elif not tensor.is_floating_point() or tensor.dtype.itemsize < 2:
            self._note(key, f"must have a floating dtype such as torch.float32, got {tensor.dtype}")
        elif tensor.is_meta or tensor.layout != torch.strided:
            self._note(key, f"must be dense and hold numbers, got {tensor.layout} on {tensor.device}")
        else:
            return tensor
        return torch.zeros(shape)

    def check_equal(self, key: str, expected: Tensor) -> None:
        """Note a problem if there is a second copy of a shared tensor that differs from it."""
        if key in self._tensors.keys() - self._used:
            second = self.take(key, tuple(expected.shape))
            if not torch.equal(second.to(expected.dtype), expected.detach()):
                self._note(key, "must equal the embedding, whose table it shares")

    def check_complete(self, ignored: tuple[str, ...]) -> None:
        """Raise ValueError for problems and unused tensors."""
        for key in self._tensors.keys() - self._used:
            if not key.startswith(ignored) and not key.endswith(ignored):
                self._note(key, "is unknown")
        if self._problems:
            raise ValueError("state_dict does not fit config: " + "; ".join(sorted(self._problems)))

    def _note(self, key: str, what: str) -> None:
        prefix = "" if key.startswith("lm_head.") else self._prefix
        self._problems.add(f"{self._names.get(key, prefix + key)} {what}")
