"""The processes of a training run: one alone, or those that `torchrun` starts."""

import atexit
import os

import torch
import torch.distributed as dist


def device() -> torch.device:
    """Return the device for this process: the GPU of its number on this machine, or else the CPU.

    >>> device().type in ("cpu", "cuda")
    True
    """
    if torch.cuda.is_available():
        return torch.device("cuda", int(os.environ.get("LOCAL_RANK", "0")))
    return torch.device("cpu")


def is_first_process() -> bool:
    """Tell whether this process is the one that writes: number 0 under `torchrun`, or the only one.

    >>> is_first_process()
    True
    """
    return os.environ.get("RANK", "0") == "0"


def has_process_group() -> bool:
    """Tell whether this process belongs to a group, see `join_process_group`.

    >>> has_process_group()
    False
    """
    return dist.is_available() and dist.is_initialized()


def join_process_group(place: torch.device) -> tuple[int, int]:
    """Join the group of processes if `torchrun` started this one; return its number and their count.

    >>> join_process_group(torch.device("cpu"))
    (0, 1)
    """
    if place.type == "cuda":
        torch.cuda.set_device(place)
    if dist.is_available() and dist.is_torchelastic_launched() and not has_process_group():
        dist.init_process_group("nccl" if place.type == "cuda" else "gloo")
        atexit.register(dist.destroy_process_group)  # not before: a group cannot be made a second time
    return (dist.get_rank(), dist.get_world_size()) if has_process_group() else (0, 1)
