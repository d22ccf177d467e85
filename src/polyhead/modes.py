"""Training and evaluation mode of modules."""

from collections.abc import Iterator
from contextlib import contextmanager

from torch import nn


@contextmanager
def evaluation_mode(model: nn.Module) -> Iterator[None]:
    """Put a model into evaluation mode; afterwards every submodule has the mode that it had before.

    >>> from torch import nn
    >>> model = nn.Sequential(nn.Dropout(), nn.Dropout())
    >>> model[1] = model[1].eval()
    >>> with evaluation_mode(model):
    ...     model[0].training
    False
    >>> [dropout.training for dropout in model]
    [True, False]
    """
    modes = [(module, module.training) for module in model.modules()]
    model.eval()
    try:
        yield
    finally:
        for module, mode in modes:  # not `model.train()`, which would set all submodules
            module.training = mode
