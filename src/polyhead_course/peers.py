"""Other people's implementations, loaded so that they run beside ours."""

from __future__ import annotations

import contextlib
import importlib
import sys
import types
import warnings
from collections.abc import Iterator


def d2l() -> types.ModuleType:
    """The package of *Dive into Deep Learning*, `d2l.torch` 1.0.3.

    It imports torchvision, which nothing in its attention classes uses. Where torchvision is missing or does
    not load, an empty stand-in takes its place while d2l is imported, and only then.
    """
    with _torchvision_or_stand_in():
        return _quietly("d2l.torch")


def transformers() -> types.ModuleType:
    """Hugging Face's package `transformers`, which says nothing unless something is wrong.

    Its import warns in a notebook that has no progress bars, and its models that small vocabularies are odd.
    """
    module = _quietly("transformers")
    module.logging.set_verbosity_error()
    return module


def _quietly(name: str) -> types.ModuleType:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return importlib.import_module(name)


@contextlib.contextmanager
def _torchvision_or_stand_in() -> Iterator[None]:
    try:
        importlib.import_module("torchvision")
    except (ImportError, RuntimeError, OSError):
        stand_in, transforms = types.ModuleType("torchvision"), types.ModuleType("torchvision.transforms")
        stand_in.transforms = transforms  # type: ignore[attr-defined]
        sys.modules |= {"torchvision": stand_in, "torchvision.transforms": transforms}
        try:
            yield
        finally:
            # Others ask whether torchvision is there, and must not be told that it is.
            del sys.modules["torchvision"], sys.modules["torchvision.transforms"]
    else:
        yield
