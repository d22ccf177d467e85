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

    Returns:
        The module; `d2l().MultiHeadAttention` is its class.

    Raises:
        ImportError: d2l is not installed.
    """
    with _torchvision_or_stand_in(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return importlib.import_module("d2l.torch")


def transformers() -> types.ModuleType:
    """Hugging Face's package `transformers`, which says nothing unless something is wrong.

    Its import warns in a notebook that has no progress bars, and its models that small vocabularies are odd.

    Returns:
        The module; `transformers().BertModel` is a class of it.

    Raises:
        ImportError: transformers is not installed.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        module = importlib.import_module("transformers")
    module.logging.set_verbosity_error()
    return module


@contextlib.contextmanager
def _torchvision_or_stand_in() -> Iterator[None]:
    try:
        importlib.import_module("torchvision")
    except (ImportError, RuntimeError, OSError):
        names = ("torchvision", "torchvision.transforms")
        for name in names:
            sys.modules[name] = types.ModuleType(name)
        sys.modules["torchvision"].transforms = sys.modules["torchvision.transforms"]  # type: ignore[attr-defined]
        try:
            yield
        finally:
            # Others ask whether torchvision is there, and must not be told that it is.
            for name in names:
                del sys.modules[name]
    else:
        yield
