"""The command `attention-clinic`: what is wrong with the code that its owner names, as text or as JSON."""

import argparse
import ast
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

from attention_clinic import certificate
from attention_clinic.diagnose import KINDS, diagnose
from attention_clinic.diagnosis import Diagnosis, Finding
from attention_clinic.isolation import LIMIT, MEMORY, Stopped, isolated
from attention_clinic.trial import SECONDS

CODES = {"healthy": 0, "ill": 1, "undecided": 2, "usage": 3}
_OPTIONS = ("kind", "causal", "mask", "rope", "residual", "ignore", "seconds")  # of `diagnose`
Report = dict[str, Any]


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.exit(CODES["usage"], f"{self.format_usage()}{self.prog}: {message}\n")


def _parser() -> _Parser:
    it = _Parser(
        prog="attention-clinic",
        usage="%(prog)s [model | certificate] file.py:Name | package.module:name [name=value ...] [options]",
        description="Diagnose attention code by its behaviour; with `model`, test the laws of decoders; with "
        "`certificate`, write them as a table and a badge. These two call what makes a decoder. "
        "Exit codes: 0 healthy, 1 ill, 2 undecided, 3 it could not be started.",
    )
    it.add_argument("words", nargs="+", help="what to diagnose, and the arguments that it is made with")
    it.add_argument("--kind", choices=[*KINDS, "mask"], help="what it is meant to be")
    it.add_argument("--causal", action=argparse.BooleanOptionalAction, help="each token sees no later one")
    it.add_argument("--mask", choices=["keeps", "hides", "additive"], help="what True means, or numbers")
    it.add_argument("--rope", choices=["halves", "neighbours"], help="which numbers are turned together")
    it.add_argument("--residual", action=argparse.BooleanOptionalAction, help="the input is added")
    it.add_argument("--ignore", action="append", default=[], metavar="NAME", help="a finding, by its name")
    it.add_argument("--seconds", type=float, default=SECONDS, help="time limit of one call (%(default)s)")
    it.add_argument("--limit", type=float, default=LIMIT, help="and of the whole, in seconds (%(default)s)")
    it.add_argument("--memory", type=float, default=MEMORY, help="GiB that it may take (%(default)s)")
    it.add_argument("--json", action="store_true", help="print JSON")
    it.add_argument("--test", type=Path, metavar="FILE", help="write a test that fails on the code")
    it.add_argument("--out", type=Path, default=Path(), metavar="FOLDER", help="for the certificate")
    return it


def main(words: Sequence[str] | None = None) -> int:
    """Run the command; the exit code is 0 for healthy, 1 ill, 2 undecided, 3 if it could not be started."""
    parser = _parser()
    given = parser.parse_intermixed_args(words)
    mode = given.words.pop(0) if given.words[0] in ("model", "certificate") else ""
    try:
        build = build_lines(given.words, called=bool(mode))
    except ValueError as error:
        parser.error(str(error))
    options = {name: getattr(given, name) for name in _OPTIONS}
    report = examined(build, mode, options, given.limit, given.memory)
    written = []
    if mode == "certificate" and "laws" in report:
        written = certificate.write_certificate(given.out, given.words[0], report["laws"])
    if given.test and report.get("test"):
        given.test.write_text(report["test"], encoding="utf-8")
        written = [given.test]
    text = "\n".join([report["text"], *(f"Written: {path}" for path in written)])
    text = json.dumps(report, ensure_ascii=False, indent=2) if given.json else text
    print(text, file=sys.stderr if report["verdict"] == "usage" else sys.stdout)
    return CODES[report["verdict"]]


def build_lines(words: Sequence[str], called: bool = False) -> str:
    """Lines of Python that make what is named by words: a place, and arguments with which it is called.

    Raises:
        ValueError: a word has another form.

    Example:
        >>> print(build_lines(["code/my_attention.py:MyAttention", "d_model=12", "bias=False"]))
        import sys
        import torch
        <BLANKLINE>
        sys.path.insert(0, 'code')
        torch.manual_seed(0)
        from my_attention import MyAttention
        <BLANKLINE>
        candidate = MyAttention(d_model=12, bias=False)
    """
    place, _, name = words[0].rpartition(":") if words else ("", "", "")
    file = Path(place)
    folder, module = (str(file.parent), file.stem) if file.suffix == ".py" else (".", place)
    if not all(part.isidentifier() for part in (*module.split("."), *name.split("."))):
        raise ValueError(f"expected file.py:Name or package.module:name, got {' '.join(words[:1])!r}")
    arguments = [_argument(word) for word in words[1:]]
    call = f"({', '.join(arguments)})" if arguments or called else ""
    return (
        f"import sys\nimport torch\n\nsys.path.insert(0, {folder!r})\ntorch.manual_seed(0)\n"
        f"from {module} import {name.partition('.')[0]}\n\ncandidate = {name}{call}"
    )


def _argument(word: str) -> str:
    key, equals, text = word.partition("=")
    if not equals or not key.isidentifier():
        raise ValueError(f"expected name=value, got {word!r}")
    try:
        return f"{key}={ast.literal_eval(text)!r}"
    except (SyntaxError, ValueError):
        return f"{key}={text!r}"


def examined(build: str, mode: str, options: Mapping[str, Any], limit: float, memory: float) -> Report:
    """The verdict on what lines of Python build, and a text, from a process of its own."""
    try:
        report: Report = isolated(_report, build, mode, options, limit=limit, memory=memory)
    except Stopped as stop:
        name = "raises" if stop.seconds is None else "never_ends"
        bug = Finding(name, details={"error": stop, "seconds": stop.seconds})
        report = Diagnosis(options["kind"] or mode, (bug,)).report()
    return report | {"versions": certificate.versions()}


def _report(build: str, mode: str, options: Mapping[str, Any]) -> Report:
    names: dict[str, Any] = {}
    try:
        exec(build, names)
    except (Exception, SystemExit) as error:
        return {"verdict": "usage", "text": f"{build}\n\n{type(error).__name__}: {error}"}
    if mode:
        laws = certificate.ENCODER if options["causal"] is False else certificate.DECODER
        rows = certificate.law_rows(names["candidate"], laws, options["seconds"])
        lines = [f"{certificate.MARKS[row['found']]} {row['law']:10} {row['says']}" for row in rows]
        return {"verdict": certificate.verdict_of(rows), "text": "\n".join(lines), "laws": rows}
    try:
        diagnosis = diagnose(names["candidate"], **options)
    except ValueError as error:
        return {"verdict": "usage", "text": str(error)}
    return diagnosis.report() | {"test": diagnosis.as_test(build) if diagnosis.bugs else None}
