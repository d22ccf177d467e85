"""The command `attention-clinic`: what is wrong with the code that its owner names, as text or as JSON."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

from attention_clinic.certificate import law_rows, line_of, verdict_of, versions, write_certificate
from attention_clinic.diagnose import KINDS, diagnose
from attention_clinic.diagnosis import Diagnosis, Finding
from attention_clinic.isolation import LIMIT, MEMORY, Stopped, isolated
from attention_clinic.targets import Target, made
from attention_clinic.trial import SECONDS

CODES = {"healthy": 0, "ill": 1, "undecided": 2, "usage": 3}
_MODES = ("model", "certificate")
Report = dict[str, Any]


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.print_usage(sys.stderr)
        self.exit(CODES["usage"], f"{self.prog}: {message}\n")


def parser() -> argparse.ArgumentParser:
    """The parser of the command's words."""
    it = _Parser(
        prog="attention-clinic",
        usage="%(prog)s [model | certificate] file.py:Name | package.module:name [name=value ...] [options]",
        description="Diagnose attention code by its behaviour; with `model`, test the laws of decoders; "
        "with `certificate`, write them as a table and a badge. "
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
    it = parser()
    given = it.parse_intermixed_args(words)
    mode = given.words.pop(0) if given.words[0] in _MODES else ""
    try:
        target = Target.of("".join(given.words[:1]), given.words[1:])
    except ValueError as error:
        it.error(str(error))
    told = ("kind", "causal", "mask", "rope", "residual", "ignore", "seconds")
    options = {} if mode else {name: getattr(given, name) for name in told}
    report = examined(target, mode, options, given.limit, given.memory)
    if mode == "certificate" and "laws" in report:
        written = write_certificate(given.out, ":".join(target[1:3]), report["verdict"], report["laws"])
        report["text"] += "".join(f"\nWritten: {path}" for path in written)
    if given.test and report.get("test"):
        given.test.write_text(report["test"], encoding="utf-8")
        report["text"] += f"\nWritten: {given.test}"
    if given.json:
        print(json.dumps(report, ensure_ascii=False, indent=2))
    else:
        print(report["text"], file=sys.stderr if report["verdict"] == "usage" else sys.stdout)
    return CODES[report["verdict"]]


def examined(target: Target, mode: str, options: Report, limit: float, memory: float) -> Report:
    """A report of code that runs in a process of its own; it has a verdict and a text."""
    try:
        report: Report = isolated(_report, target, mode, options, limit=limit, memory=memory)
    except Stopped as stop:
        name = "raises" if stop.seconds is None else "never_ends"
        bug = Finding(name, details={"error": stop, "seconds": stop.seconds})
        report = Diagnosis(options.get("kind") or "", (bug,)).report()
    return report | {"versions": versions()}


def _report(target: Target, mode: str, options: Report) -> Report:
    try:
        candidate = made(target.load()) if mode else target.load()
    except (Exception, SystemExit) as error:
        text = f"{target.module}:{target.name} cannot be loaded: {type(error).__name__}: {error}"
        return {"verdict": "usage", "text": text}
    if mode:
        rows = law_rows(candidate)
        return {"verdict": verdict_of(rows), "text": "\n".join(map(line_of, rows)), "laws": rows}
    try:
        diagnosis = diagnose(candidate, **options)
    except ValueError as error:
        return {"verdict": "usage", "text": str(error)}
    test = diagnosis.as_test(target.source) if diagnosis.bugs else None
    return diagnosis.report() | {"test": test}
