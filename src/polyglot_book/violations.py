"""What a check reports: the file, the cell, the problem and the remedy; as lines, JSON and annotations."""

import os
import re
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

Report = Callable[[str], None]  # is called with each line for the user


@dataclass(frozen=True)
class Violation:
    """One thing that is wrong with a book.

    Attributes:
        file: The file, relative to the book's root.
        cell: The id of the cell, or "" where the whole file is concerned.
        problem: What is wrong.
        remedy: What to do.
    """

    file: str
    cell: str
    problem: str
    remedy: str

    def __str__(self) -> str:
        """Format it as one line.

        >>> print(Violation("chapters/ko/01-one.md", "why", "missing", "run `polyglot sync`"))
        chapters/ko/01-one.md#why: missing; run `polyglot sync`
        """
        cell = f"#{self.cell}" if self.cell else ""
        return f"{self.file}{cell}: {self.problem}; {self.remedy}"

    def to_json(self, root: Path) -> dict[str, Any]:
        """Return its parts, and as `line` the line of the cell's id; 1 for a whole file."""
        number, path = re.match(r"line (\d+)", self.problem), root / self.file
        line = int(number[1]) if number else 1
        if self.cell and path.is_file():
            header = re.compile(rf"""\bid["']?: *["']?{re.escape(self.cell)}(?![\w-])""")
            lines = path.read_text(encoding="utf-8", errors="replace").split("\n")
            line = next((each for each, text in enumerate(lines, start=1) if header.search(text)), line)
        return {**asdict(self), "line": line}

    def annotation(self, root: Path) -> str:
        r"""Format it for GitHub, which shows it beside the line in a pull request.

        >>> print(Violation("ko/one.md", "", "line 7: 50% missing", "run `polyglot sync`").annotation(Path()))
        ::error file=ko/one.md,line=7::line 7: 50%25 missing; run `polyglot sync`
        """

        def escaped(text: str, marks: str) -> str:
            return re.sub(f"[{marks}]", lambda each: f"%{ord(each[0]):02X}", text)

        file = escaped(Path(os.path.relpath(root / self.file)).as_posix(), "%\r\n:,")
        text = escaped(str(self).removeprefix(f"{self.file}").removeprefix(": "), "%\r\n")
        return f"::error file={file},line={self.to_json(root)['line']}::{text}"
