"""What is installed from a source distribution is what is installed from the repository."""

from __future__ import annotations

import re
import tarfile
from pathlib import Path
from zipfile import ZipFile

from hatchling.builders.sdist import SdistBuilder
from hatchling.builders.wheel import WheelBuilder

import attention_clinic
from attention_clinic.laws import ALL

ROOT = Path(attention_clinic.__file__).parent


def test_a_wheel_from_the_source_distribution_is_that_from_the_repository(tmp_path):
    (archive,) = SdistBuilder(str(ROOT)).build(directory=str(tmp_path / "sdist"))
    with tarfile.open(archive) as tar:
        tar.extractall(tmp_path / "unpacked", filter="data")
    (unpacked,) = (tmp_path / "unpacked").iterdir()
    ours, theirs = (
        ZipFile(next(WheelBuilder(str(root)).build(directory=str(tmp_path / name))))
        for root, name in ((ROOT, "ours"), (unpacked, "theirs"))
    )
    names = ours.namelist()
    assert [*map(ours.read, sorted(names))] == [*map(theirs.read, sorted(theirs.namelist()))]
    assert {"attention_clinic_pytest.py", "attention_clinic/kinds/table.py", "attention_clinic/py.typed"} <= {
        *names
    }
    assert not any(name.endswith((".pyc", ".md")) or "PKG-INFO" in name for name in names)


def test_the_readme_has_a_row_for_each_law():
    _, _, laws = (ROOT / "README.md").read_text("utf-8").partition("| Law |")
    rows = re.findall(r"^\| `(\w+)` \|", laws, re.MULTILINE)
    assert rows == [*ALL]
