"""Other people's implementations, loaded so that they run beside ours."""

import importlib
import sys
import types
import warnings


def d2l() -> types.ModuleType:
    """Import the package of *Dive into Deep Learning*, `d2l.torch` 1.0.3.

    It imports torchvision, which nothing in its attention classes uses. Where torchvision is missing or does
    not load, an empty module takes its place while d2l is imported, and only then.

    >>> d2l().MultiHeadAttention.__name__
    'MultiHeadAttention'

    Raises:
        ImportError: d2l is not installed.
    """
    try:
        importlib.import_module("torchvision")
        stand_in: dict[str, types.ModuleType] = {}
    except (ImportError, RuntimeError, OSError):
        torchvision, transforms = types.ModuleType("torchvision"), types.ModuleType("torchvision.transforms")
        torchvision.transforms = transforms  # type: ignore[attr-defined]
        stand_in = {"torchvision": torchvision, "torchvision.transforms": transforms}
    sys.modules |= stand_in
    try:
        return _import_without_warnings("d2l.torch")
    finally:
        for name in stand_in:
            # Other packages look for torchvision in sys.modules and would take this one for the real one.
            del sys.modules[name]


def transformers() -> types.ModuleType:
    """Import Hugging Face's package `transformers` without its warnings.

    Its import warns in a notebook that has no progress bars, and its models warn of small vocabularies.

    >>> transformers().BertConfig.model_type
    'bert'
    """
    module = _import_without_warnings("transformers")
    module.logging.set_verbosity_error()
    return module


def _import_without_warnings(name: str) -> types.ModuleType:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return importlib.import_module(name)
