"""Checkpoints, and the state of a run: safetensors with JSON in the same file, replaced atomically."""

import json
import os
import time
from pathlib import Path
from typing import Any, NamedTuple

import safetensors.torch
import torch
import torch.distributed as dist
from torch import Tensor, nn

from polyhead.checked import checked
from polyhead.processes import has_process_group


class Checkpoint(NamedTuple):
    """The contents of a file that `save` wrote.

    >>> Checkpoint({"bias": torch.zeros(2)}, {"steps": 3}).facts
    {'steps': 3}
    """

    weights: dict[str, Tensor]  # for the model's load_state_dict
    facts: dict[str, Any]


@checked
def save(path: str | Path, model: nn.Module, facts: dict[str, Any]) -> None:
    """Write the model's weights as safetensors, and in the file's header the facts, as JSON.

    The file is replaced atomically: a write that fails leaves the old one.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(f"{folder}/model.safetensors", nn.Linear(2, 3), {"steps": 5})
    ...     load(f"{folder}/model.safetensors").facts
    {'steps': 5}
    """
    _write(Path(path), _serialize(model.state_dict(), facts))


@checked
def load(path: str | Path) -> Checkpoint:
    """Read a file that `save` wrote; the weights are on the CPU.

    Raises:
        ValueError: the file has other contents.

    >>> load(__file__)
    Traceback (most recent call last):
    ValueError: path must be a file that `save` wrote, got ...
    """
    return _parse(path, Path(path).read_bytes())


class RunState:
    """Weights, optimizer and losses of a run, in one file of its folder; without a folder, nowhere.

    Only the process that `is_writer` reads the folder; it sends the contents to the others.

    >>> model = nn.Linear(2, 3)
    >>> state = RunState(None, model, torch.optim.AdamW(model.parameters()), {"seed": 5}, is_writer=True)
    >>> state.resume()  # no folder, no steps done
    []
    """

    def __init__(
        self,
        folder: str | Path | None,
        model: nn.Module,
        optimizer: torch.optim.Optimizer,
        facts: dict[str, Any],
        is_writer: bool,
    ) -> None:
        self.model, self.optimizer, self.facts = model, optimizer, json.loads(json.dumps(facts))
        self.path = None if folder is None else Path(folder) / "state.safetensors"
        self.is_writer = is_writer and folder is not None
        self.saved = time.monotonic()

    def keep(self, losses: list[float], seconds: int | float) -> None:
        """Write the state, if the last write was at least `seconds` ago."""
        if self.path is None or not self.is_writer or time.monotonic() - self.saved < seconds:
            return
        tensors = {f"model.{name}": tensor for name, tensor in self.model.state_dict().items()}
        for number, averages in self.optimizer.state_dict()["state"].items():
            tensors |= {f"optimizer.{number}.{name}": tensor for name, tensor in averages.items()}
        tensors["losses"] = torch.tensor(losses, dtype=torch.float64)
        _write(self.path, _serialize(tensors, self.facts))
        self.saved = time.monotonic()

    def resume(self) -> list[float]:
        """Load the state in the folder, if there is one; return the losses of the steps that are done."""
        contents = [self._read()]
        if has_process_group():
            dist.broadcast_object_list(contents, src=0)
        if contents[0] is None:
            return []
        tensors, facts = _parse(self.path or "the first process's state", contents[0])
        weights, averages = _below("model.", tensors), _below("optimizer.", tensors)
        self._compare("run", self.facts, facts)
        self._compare("model", _forms(self.model.state_dict()), _forms(weights))
        self.model.load_state_dict(weights)
        state = self.optimizer.state_dict()
        for name, tensor in averages.items():
            number, average = name.split(".", 1)
            state["state"].setdefault(int(number), {})[average] = tensor
        self.optimizer.load_state_dict(state)
        return tensors["losses"].tolist()

    def _read(self) -> bytes | None:
        """The file's bytes; unfinished files of killed processes are removed."""
        if self.path is None or not self.is_writer:
            return None
        self.path.parent.mkdir(parents=True, exist_ok=True)
        for unfinished in self.path.parent.glob(f"{self.path.name}.*.tmp"):
            unfinished.unlink()
        return self.path.read_bytes() if self.path.exists() else None

    def _compare(self, name: str, expected: dict[str, Any], actual: dict[str, Any]) -> None:
        if keys := [key for key in {**expected, **actual} if expected.get(key) != actual.get(key)]:
            ours, theirs = ({key: each.get(key) for key in keys} for each in (expected, actual))
            what = f"folder must hold a state of the same {name}, {ours}, got {theirs}"
            raise ValueError(f"{what}: take another folder, or remove {self.path} to start over")


def _below(prefix: str, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    return {name.removeprefix(prefix): t for name, t in tensors.items() if name.startswith(prefix)}


def _forms(tensors: dict[str, Tensor]) -> dict[str, str]:
    return {name: f"{tensor.dtype} {tuple(tensor.shape)}" for name, tensor in tensors.items()}


def _serialize(tensors: dict[str, Tensor], facts: dict[str, Any]) -> bytes:
    """Tensors and facts as safetensors; a tensor with several names is written once."""
    names: dict[tuple[Any, ...], str] = {}
    shared = {}
    for name, tensor in tensors.items():
        key = (tensor.data_ptr(), tensor.shape, tensor.stride()) if tensor.numel() else (name,)
        if names.setdefault(key, name) != name:
            shared[name] = names[key]
    once = {name: tensor.contiguous() for name, tensor in tensors.items() if name not in shared}
    words = {"facts": json.dumps(facts, ensure_ascii=False), "shared": json.dumps(shared)}
    return safetensors.torch.save(once, words)


def _parse(path: str | Path, data: bytes) -> Checkpoint:
    """Parse the bytes of the file at `path`; ValueError if `save` did not write them."""
    try:
        tensors = safetensors.torch.load(data)
        header = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])["__metadata__"]
        facts, shared = dict(json.loads(header["facts"])), dict(json.loads(header["shared"]))
        return Checkpoint(tensors | {name: tensors[other] for name, other in shared.items()}, facts)
    except (safetensors.SafetensorError, KeyError, RecursionError, TypeError, ValueError) as error:
        raise ValueError(f"path must be a file that `save` wrote, got {path}: {error!r}") from error


def _write(path: Path, data: bytes) -> None:
    """Write a file so that readers, even after a kill, see either the old contents or the new ones."""
    unfinished = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    try:
        with unfinished.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(unfinished, path)
    except OSError as error:  # that of a full disk names no file
        raise OSError(error.errno, error.strerror or str(error), str(path)) from None
    finally:
        unfinished.unlink(missing_ok=True)
