"""Code that its owner names by a word: `file.py:Name` or `package.module:name`, and what it is made with."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from torch import nn

from attention_clinic.arguments import signature


class Target(NamedTuple):
    """A name in a module, and the arguments with which it is called; without any it is not called.

    Attributes:
        folder: Where the module is looked for first.
        module: Its name.
        name: The name in it.
        arguments: The arguments of the call.

    Example:
        >>> target = Target.of("code/my_attention.py:MyAttention", ["d_model=12", "bias=False"])
        >>> print(target.source)
        import sys
        import torch
        <BLANKLINE>
        sys.path.insert(0, 'code')
        torch.manual_seed(0)
        from my_attention import MyAttention
        <BLANKLINE>
        candidate = MyAttention(d_model=12, bias=False)
    """

    folder: str
    module: str
    name: str
    arguments: dict[str, Any]

    @classmethod
    def of(cls, place: str, arguments: Sequence[str] = ()) -> Target:
        """Read `file.py:Name` or `package.module:name`, and words like `d_model=12`.

        Raises:
            ValueError: a word has another form.
        """
        path, _, name = place.rpartition(":")
        file = Path(path)
        folder, module = (str(file.parent), file.stem) if file.suffix == ".py" else (".", path)
        if not all(word.isidentifier() for word in (*module.split("."), *name.split("."))):
            raise ValueError(f"expected file.py:Name or package.module:name, got {place!r}")
        values = {}
        for word in arguments:
            key, equals, value = word.partition("=")
            if not equals or not key.isidentifier():
                raise ValueError(f"expected name=value, got {word!r}")
            values[key] = _value(value)
        return cls(folder, module, name, values)

    @property
    def source(self) -> str:
        """Lines of Python that make the candidate."""
        given = ", ".join(f"{key}={value!r}" for key, value in self.arguments.items())
        lines = [
            "import sys",
            "import torch",
            "",
            f"sys.path.insert(0, {self.folder!r})",
            "torch.manual_seed(0)",
            f"from {self.module} import {self.name.partition('.')[0]}",
            "",
            f"candidate = {self.name}{f'({given})' if given else ''}",
        ]
        return "\n".join(lines)

    def load(self) -> Any:
        """Run these lines, and nothing else; a function that needs no argument is called."""
        names: dict[str, Any] = {}
        exec(self.source, names)
        candidate = names["candidate"]
        return candidate if inspect.isclass(candidate) else made(candidate)


def made(candidate: Any) -> Any:
    """What a class or a function makes, if it needs no argument; anything else as it is.

    Example:
        >>> made(lambda size=2: nn.Linear(size, size))
        Linear(in_features=2, out_features=2, bias=True)
    """
    if isinstance(candidate, nn.Module) or not callable(candidate):
        return candidate
    parameters = signature(candidate)
    needed = [p for p in parameters or () if p.default is p.empty and p.kind is not p.VAR_POSITIONAL]
    return candidate if needed or parameters is None else candidate()


def _value(text: str) -> Any:
    try:
        return ast.literal_eval(text)
    except (SyntaxError, ValueError):
        return text
