"""The small changes to a module: each is one that a test ought to notice."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace

COMPARE = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
OPPOSITE = (ast.Eq, ast.NotEq, ast.Is, ast.IsNot, ast.In, ast.NotIn)  # of these the change is the negation
COMPUTE = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult, ast.Pow: ast.Mult, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd,
    ast.BitXor: ast.BitAnd, ast.LShift: ast.RShift, ast.RShift: ast.LShift,
}  # fmt: skip
PRINTED = {"__repr__", "extra_repr"}  # for people only
TYPES = {"TypeVar", "ParamSpec", "NewType", "cast"}
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass(frozen=True)
class Mutant:
    """One change: bytes `start` to `end` of the module's source become `new`.

    Only a test that executes one of `lines` can notice it. `place` is "body" within a function, "top" for
    what an import executes, "default" for the default of an argument: `function` and `argument` tell which.
    """

    start: int
    end: int
    new: str
    line: str
    number: int
    change: str
    lines: tuple[int, int]
    place: str
    function: tuple[str, int] = ("", 0)
    argument: int | str = ""

    def applied(self, source: bytes) -> bytes:
        """Return the module with this change, each of its lines where it was."""
        missing = source[self.start : self.end].count(b"\n") * b"\n"
        new = self.new.encode()
        return (
            source[: self.start]
            + (new[:1] + missing + new[1:] if new[:1] == b"(" else new + missing)
            + source[self.end :]
        )


class Finder:
    """Finds the mutants of one module, in the order of its lines."""

    def __init__(self, source: bytes) -> None:
        self.source = source
        self.starts = [0]
        for line in source.splitlines(keepends=True):
            self.starts.append(self.starts[-1] + len(line))
        self.tree = ast.parse(source)
        self.names: list[str] = []
        self.lines = (1, len(self.starts))
        self.place, self.function, self.argument = "top", ("", 0), ""  # type: tuple[str, tuple[str, int], int | str]

    def mutants(self) -> list[Mutant]:
        """Return all of them."""
        found = sorted(
            set(self.block(self.tree.body)), key=lambda each: (each.number, each.start, each.change)
        )
        seen = Counter[tuple[int, str]]()
        for index, each in enumerate(found):
            seen[each.number, each.change] += 1
            if (times := seen[each.number, each.change]) > 1:
                found[index] = replace(each, change=f"{each.change} ({times})")
        return found

    def one(self, node: ast.AST, new: ast.AST | str) -> Mutant:
        """Return the mutant that has `new` instead of this node."""
        start = self.starts[node.lineno - 1] + node.col_offset  # type: ignore[attr-defined]
        end = self.starts[node.end_lineno - 1] + node.end_col_offset  # type: ignore[attr-defined]
        text = new if isinstance(new, str) else ast.unparse(new)
        old = " ".join(self.source[start:end].decode().split())
        number = node.lineno  # type: ignore[attr-defined]
        line = self.source[self.starts[number - 1] : self.starts[number]].decode().strip()
        change = f"without `{old}`" if text == "pass" else f"`{old}` → `{text}`"
        written = text if isinstance(node, ast.stmt) else f"({text})"
        return Mutant(
            start, end, written, line, number, change, self.lines, self.place, self.function, self.argument
        )

    def block(self, body: list[ast.stmt]) -> Iterator[Mutant]:
        for statement in body:
            yield from self.statement(statement)

    def statement(self, node: ast.stmt) -> Iterator[Mutant]:
        if isinstance(node, FUNCTIONS):
            yield from self.of_function(node)
            return
        if isinstance(node, ast.ClassDef):
            lines, self.lines = self.lines, (node.lineno, node.end_lineno or 0)
            self.names.append(node.name)
            yield from self.block(node.body)
            self.names.pop()
            self.lines = lines
            return
        if self.place == "body":
            bodies = [getattr(node, name) for name in ("body", "cases") if getattr(node, name, None)]
            first = bodies[0][0] if bodies else None
            last = node.end_lineno or 0
            if isinstance(first, ast.match_case):
                last = first.pattern.lineno - 1
            elif first is not None:
                last = first.lineno - 1
            self.lines = (node.lineno, max(node.lineno, last))
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            return
        if isinstance(node, ast.Raise):
            yield self.one(node, "pass")
            return
        if isinstance(node, ast.Expr) and not isinstance(node.value, ast.Call):
            if not isinstance(node.value, ast.Constant):
                yield from self.expression(node.value)
            return
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        if self.place == "top" and any(
            isinstance(each, ast.Name) and each.id == "__all__" for each in targets
        ):
            return
        kept = isinstance(node, ast.Assign | ast.AnnAssign) and any(
            isinstance(each, ast.Name | ast.Tuple) for each in targets
        )
        if isinstance(node, ast.Expr | ast.AugAssign | ast.Delete | ast.Assign) and not kept:
            yield self.one(node, "pass")
        if isinstance(node, ast.AugAssign) and type(node.op) in COMPUTE:
            other = COMPUTE[type(node.op)]()
            yield self.one(node, ast.AugAssign(node.target, other, node.value))
        if isinstance(node, ast.Break):
            yield self.one(node, "continue")
        if isinstance(node, ast.Continue):
            yield self.one(node, "break")
        if isinstance(node, ast.If | ast.While):
            yield from self.negated(node.test)
        for name, value in ast.iter_fields(node):
            if name in ("annotation", "msg", "type", "decorator_list"):
                continue
            lines = self.lines
            for each in value if isinstance(value, list) else [value]:
                if isinstance(each, ast.stmt):
                    yield from self.statement(each)
                    self.lines = lines
                elif isinstance(each, ast.ExceptHandler | ast.match_case):
                    yield from self.block(each.body)
                    self.lines = lines
                elif isinstance(each, ast.withitem):
                    yield from self.expression(each.context_expr)
                elif isinstance(each, ast.expr):
                    yield from self.expression(each)

    def of_function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[Mutant]:
        before = self.lines, self.place, self.function, self.argument
        first = min([node.lineno, *(each.lineno for each in node.decorator_list)])
        self.names.append(node.name)
        if self.place == "top":
            self.lines, self.place = (node.body[0].lineno, node.end_lineno or 0), "default"
            self.function = (".".join(self.names), first)
        for number, default in enumerate(node.args.defaults):
            self.argument = number
            yield from self.expression(default)
        for argument, value in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True):
            self.argument = argument.arg
            if value is not None:
                yield from self.expression(value)
        self.place, self.function, self.argument = "body", ("", 0), ""
        if node.name not in PRINTED:
            yield from self.block(node.body)
        self.names.pop()
        self.lines, self.place, self.function, self.argument = before

    def negated(self, test: ast.expr) -> Iterator[Mutant]:
        simple = isinstance(test, ast.Compare) and isinstance(test.ops[0], OPPOSITE) and len(test.ops) == 1
        if not simple and not (isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not)):
            yield self.one(test, ast.UnaryOp(ast.Not(), test))

    def expression(self, node: ast.expr) -> Iterator[Mutant]:
        if isinstance(node, ast.JoinedStr):
            return  # Python 3.11 does not say where its parts are
        if isinstance(node, ast.Constant):
            yield from self.constant(node)
        elif isinstance(node, ast.Compare):
            for index, kind in enumerate(node.ops):
                ops = [*node.ops[:index], COMPARE[type(kind)](), *node.ops[index + 1 :]]
                yield self.one(node, ast.Compare(node.left, ops, node.comparators))
        elif isinstance(node, ast.BinOp) and type(node.op) in COMPUTE:
            yield self.one(node, ast.BinOp(node.left, COMPUTE[type(node.op)](), node.right))
        elif isinstance(node, ast.BoolOp):
            other = ast.Or() if isinstance(node.op, ast.And) else ast.And()
            yield self.one(node, ast.BoolOp(other, node.values))
        elif isinstance(node, ast.UnaryOp):
            yield self.one(node, node.operand)
        elif isinstance(node, ast.IfExp):
            yield from self.negated(node.test)
        elif isinstance(node, ast.Call):
            yield from self.call(node)
        elif isinstance(node, ast.Subscript) and self.place == "top":
            return  # a type
        if isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1] in TYPES:
            return
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.keyword):
                yield from self.expression(child.value)
            elif isinstance(child, ast.comprehension):
                yield from self.expression(child.iter)
                for test in child.ifs:
                    yield from self.negated(test)
                    yield from self.expression(test)
            elif isinstance(child, ast.expr):
                yield from self.expression(child)

    def constant(self, node: ast.Constant) -> Iterator[Mutant]:
        value = node.value
        if isinstance(value, bool):
            yield self.one(node, repr(not value))
        elif isinstance(value, int | float):
            yield self.one(node, repr(value + 1))
        elif isinstance(value, str | bytes):
            yield self.one(node, repr("XX" + value if isinstance(value, str) else b"XX" + value))

    def call(self, node: ast.Call) -> Iterator[Mutant]:
        for each in node.keywords:
            if each.arg is not None:
                others = [other for other in node.keywords if other is not each]
                yield self.one(node, ast.Call(node.func, node.args, others))
        for index, (one, two) in enumerate(zip(node.args, node.args[1:], strict=False)):
            if (
                not isinstance(one, ast.Starred)
                and not isinstance(two, ast.Starred)
                and ast.dump(one) != ast.dump(two)
            ):
                swapped = [*node.args[:index], two, one, *node.args[index + 2 :]]
                yield self.one(node, ast.Call(node.func, swapped, node.keywords))


def mutants(source: bytes) -> list[Mutant]:
    """Return the mutants of a module.

    >>> [each.change for each in mutants(b"def f(x, n=2): return x < n")]
    ['`2` → `3`', '`x < n` → `x <= n`']
    """
    return Finder(source).mutants()
