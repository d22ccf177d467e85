"""Writes signatures for readers: with the annotations of the source, long ones on several lines."""

from __future__ import annotations

import ast
from typing import TypeGuard

# Longer signatures have a line for each parameter.
_WIDTH = 76
# What is longer than three such lines says more than a definition should.
_LONGEST = 3 * _WIDTH


def signature(name: str, parameters: list[str], returns: ast.expr | None = None) -> str:
    """Write how something is called."""
    end = f" -> {written(returns)}" if returns else ""
    line = f"{name}({', '.join(parameters)}){end}"
    if len(line) <= _WIDTH or not parameters:
        return line
    return "\n".join([f"{name}(", *(f"    {each}," for each in parameters), f"){end}"])


def definition(node: ast.stmt) -> str:
    """Write how a constant is defined; of a long value, that there is one."""
    text = ast.unparse(node)
    if len(text) > _LONGEST and isinstance(node, ast.Assign | ast.AnnAssign) and node.value:
        text = text.removesuffix(ast.unparse(node.value)) + "..."
    return _quoted(text)


def parameters_of(arguments: ast.arguments, *, bound: bool) -> list[str]:
    """Write the parameters of a function, without the first one of a bound method."""
    named = [*arguments.posonlyargs, *arguments.args]
    defaults = [*[None] * (len(named) - len(arguments.defaults)), *arguments.defaults]
    found = [_parameter(*each) for each in zip(named, defaults, strict=True)]
    if arguments.posonlyargs:
        found.insert(len(arguments.posonlyargs), "/")
    if bound and named and named[0].arg in {"self", "cls"}:
        found = found[1:]
    if arguments.vararg:
        found.append(f"*{_parameter(arguments.vararg)}")
    elif arguments.kwonlyargs:
        found.append("*")
    found += [_parameter(*each) for each in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)]
    return [*found, f"**{_parameter(arguments.kwarg)}"] if arguments.kwarg else found


def names_of(arguments: ast.arguments) -> frozenset[str]:
    """Give the names of a function's parameters."""
    every = [
        *arguments.posonlyargs,
        *arguments.args,
        *arguments.kwonlyargs,
        arguments.vararg,
        arguments.kwarg,
    ]
    return frozenset(each.arg for each in every if each)


def field_of(node: ast.AnnAssign) -> str:
    """Write a field of a class as the parameter that it is."""
    value = node.value
    if isinstance(value, ast.Call) and ast.unparse(value.func).rpartition(".")[2] == "field":
        given = {each.arg: each.value for each in value.keywords}
        # A factory makes a value, which only the call shows.
        value = given.get("default") or (ast.Constant(...) if "default_factory" in given else None)
    default = f" = {written(value)}" if value else ""
    return f"{ast.unparse(node.target)}: {written(node.annotation)}{default}"


def is_parameter(node: ast.stmt) -> TypeGuard[ast.AnnAssign]:
    """Whether a field of a class can be given when one is made."""
    if not isinstance(node, ast.AnnAssign) or not isinstance(node.target, ast.Name):
        return False
    text = ast.unparse(node)
    return node.target.id[0] != "_" and "ClassVar" not in text and "init=False" not in text


def written(node: ast.expr | None) -> str:
    """Write an expression with double quotes; an annotation that stands in quotes without them."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str) and "[" in node.value:
        return _quoted(node.value)
    return _quoted(ast.unparse(node)) if node else ""


def _quoted(text: str) -> str:
    return text if '"' in text else text.replace("'", '"')


def _parameter(argument: ast.arg, default: ast.expr | None = None) -> str:
    annotation = f": {written(argument.annotation)}" if argument.annotation else ""
    if default is None:
        return f"{argument.arg}{annotation}"
    equals = " = " if annotation else "="
    return f"{argument.arg}{annotation}{equals}{written(default)}"
