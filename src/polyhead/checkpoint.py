"""Checkpoints, and the state of a run: safetensors with JSON in the same file, written in one move."""

from __future__ import annotations

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


class Checkpoint(NamedTuple):
    """What `save` wrote."""

    weights: dict[str, Tensor]  # for the model's load_state_dict
    facts: dict[str, Any]


@checked
def save(path: str | Path, model: nn.Module, facts: dict[str, Any]) -> None:
    """Write the model's weights as safetensors, and in the file's header the facts, as JSON.

    The file appears whole or not at all; one that is there stays until then.
    """
    _write(Path(path), _packed(model.state_dict(), facts))


@checked
def load(path: str | Path) -> Checkpoint:
    """Read what `save` wrote; the weights are on the CPU.

    Raises:
        ValueError: there is something else in the file.
    """
    return _unpacked(path, Path(path).read_bytes())


class RunState:
    """Weights, optimizer and losses of a run, in one file of its folder; without a folder, nowhere.

    Only the process that `is_writer` sees the folder; the others are told what is in it.
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
        """Write the state, if that was `seconds` ago."""
        if self.path is None or not self.is_writer or time.monotonic() - self.saved < seconds:
            return
        tensors = {f"model.{name}": tensor for name, tensor in self.model.state_dict().items()}
        for number, averages in self.optimizer.state_dict()["state"].items():
            tensors |= {f"optimizer.{number}.{name}": tensor for name, tensor in averages.items()}
        tensors["losses"] = torch.tensor(losses, dtype=torch.float64)
        _write(self.path, _packed(tensors, self.facts))
        self.saved = time.monotonic()

    def resume(self) -> list[float]:
        """Take up what is kept, if there is anything; the losses of the steps that are done."""
        found = [self._read()]
        if joined():
            dist.broadcast_object_list(found, src=0)
        if found[0] is None:
            return []
        tensors, facts = _unpacked(self.path or "the first process's state", found[0])
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
        """The file's bytes; what a kill left unfinished is removed."""
        if self.path is None or not self.is_writer:
            return None
        self.path.parent.mkdir(parents=True, exist_ok=True)
        for unfinished in self.path.parent.glob(f"{self.path.name}.*.tmp"):
            unfinished.unlink()
        return self.path.read_bytes() if self.path.exists() else None

    def _compare(self, name: str, ours: dict[str, Any], kept: dict[str, Any]) -> None:
        if keys := [key for key in {**ours, **kept} if ours.get(key) != kept.get(key)]:
            wanted, came = ({key: each.get(key) for key in keys} for each in (ours, kept))
            what = f"folder must hold a state of the same {name}, {wanted}, got {came}"
            raise ValueError(f"{what}: take another folder, or remove {self.path} to begin anew")


def joined() -> bool:
    """Whether this process is one of a group."""
    return dist.is_available() and dist.is_initialized()


def _below(prefix: str, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    return {name.removeprefix(prefix): t for name, t in tensors.items() if name.startswith(prefix)}


def _forms(tensors: dict[str, Tensor]) -> dict[str, str]:
    return {name: f"{tensor.dtype} {tuple(tensor.shape)}" for name, tensor in tensors.items()}


def _packed(tensors: dict[str, Tensor], facts: dict[str, Any]) -> bytes:
    """As safetensors; a tensor that has several names stands there once."""
    names: dict[tuple[Any, ...], str] = {}
    shared = {}
    for name, tensor in tensors.items():
        key = (tensor.data_ptr(), tensor.shape, tensor.stride()) if tensor.numel() else (name,)
        if names.setdefault(key, name) != name:
            shared[name] = names[key]
    once = {name: tensor.contiguous() for name, tensor in tensors.items() if name not in shared}
    words = {"facts": json.dumps(facts, ensure_ascii=False), "shared": json.dumps(shared)}
    return safetensors.torch.save(once, words)


def _unpacked(path: str | Path, data: bytes) -> Checkpoint:
    """What stands in a file, here with its bytes; ValueError if `save` did not write it."""
    try:
        tensors = safetensors.torch.load(data)
        header = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])["__metadata__"]
        facts, shared = json.loads(header["facts"]), json.loads(header["shared"])
    except (safetensors.SafetensorError, KeyError, ValueError) as error:
        raise ValueError(f"path must be a file that `save` wrote, got {path}: {error!r}") from error
    return Checkpoint(tensors | {name: tensors[other] for name, other in shared.items()}, facts)


def _write(path: Path, data: bytes) -> None:
    """All of it in one move: who reads meanwhile, or after a kill, finds the old file or the new one."""
    unfinished = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    try:
        with unfinished.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(unfinished, path)
    finally:
        unfinished.unlink(missing_ok=True)
