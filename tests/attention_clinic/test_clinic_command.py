"""The command `attention-clinic`, its certificate, and the fixture for pytest."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
import torch

import attention_clinic_pytest
from attention_clinic import command
from attention_clinic.certificate import DECODER
from attention_clinic.diagnosis import Diagnosis
from attention_clinic.laws import LAWS
from tests.attention_clinic import ill_attention

FILE = str(Path(ill_attention.__file__))
NAMES = "tests.attention_clinic.ill_attention"


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["model", f"{FILE}:right"], 0),
        (["polyhead:causal_mask"], 0),
        ([f"{FILE}:attention"], 1),
        ([f"{FILE}:attention", "--ignore", "unscaled"], 0),
        ([f"{FILE}:Attention", "d_model=12", "--kind=multi_head", "n_heads=3"], 1),
        (["model", f"{NAMES}:leaking"], 1),
        (["model", f"{NAMES}:no_decoder"], 2),
        ([f"{FILE}:absent"], 3),
        ([f"{FILE}:Attention", "d_model=12"], 3),
        (["absent.py:attention"], 3),
        ([f"{FILE}:attention", "--kind", "no_kind"], 3),
        ([f"{FILE}:attention", "d_model"], 3),
        (["attention"], 3),
        (["model"], 3),
        ([], 3),
    ],
)
@pytest.mark.usefixtures("unchecked")
def test_the_exit_code_is_the_verdict(words, code, capsys):
    try:
        found = command.main(words)
    except SystemExit as stop:
        found = stop.code
    assert found == code
    printed = capsys.readouterr()
    assert (printed.err if code == 3 else printed.out).strip()


def test_what_the_owner_means_is_handed_on(monkeypatch, capsys):
    def told(candidate, **options):
        return Diagnosis("attention", tried=(repr(options),))

    monkeypatch.setattr(command, "diagnose", told)
    words = ["--no-causal", "--mask=hides", "--rope=halves", "--residual", "--ignore=a", "--ignore=b"]
    assert command.main([f"{FILE}:attention", *words, "--seconds=3", "--json"]) == 0
    (options,) = json.loads(capsys.readouterr().out)["tried"]
    assert options == repr(
        {"kind": None, "causal": False, "mask": "hides", "rope": "halves", "residual": True}
        | {"ignore": ["a", "b"], "seconds": 3.0}
    )


def test_json_has_the_verdict_the_findings_and_the_versions(capsys):
    command.main([f"{FILE}:attention", "--json"])
    report = json.loads(capsys.readouterr().out)
    assert report["verdict"] == "ill"
    assert [*report["bugs"]] == ["unscaled"]
    assert report["versions"]["torch"] == torch.__version__
    assert "def test_unscaled():" in report["test"]
    command.main(["model", f"{FILE}:leaking", "--json"])
    report = json.loads(capsys.readouterr().out)
    assert [row["law"] for row in report["laws"]] == [*DECODER]
    assert {row["law"] for row in report["laws"] if row["found"] == "broken"} == {
        "causality",
        "step",
        "chunk",
    }


def test_a_model_has_one_line_for_each_law(capsys):
    command.main(["model", f"{FILE}:leaking"])
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[1] for line in lines] == [*DECODER]
    begin, number = "✗ causality  Other tokens in the future change nothing before them, ", r"Off by 0\.\d+\."
    assert re.fullmatch(rf"{begin}wherever the future begins\. {number}", lines[1])


@pytest.mark.parametrize("arguments", [[], ["d_model=12", "n_heads=3"]])
def test_the_test_that_it_writes_fails(arguments, tmp_path, capsys):
    file = tmp_path / "test_ill.py"
    command.main([f"{FILE}:Attention", *arguments, "--test", str(file)])
    assert f"Written: {file}" in capsys.readouterr().out
    names = {}
    exec(file.read_text(encoding="utf-8"), names)
    with pytest.raises(AssertionError):
        names["test_model_root"]()
    command.main(["polyhead:causal_mask", "--test", str(tmp_path / "none.py")])
    assert not (tmp_path / "none.py").exists()


def test_nothing_runs_here_and_only_what_was_named_runs_there(tmp_path, monkeypatch):
    (tmp_path / "named_code.py").write_text(
        "from pathlib import Path\n"
        "def note(name): Path(__file__).with_name('ran').open('a').write(name)\n"
        "note('imported ')\n"
        "def right():\n"
        "    from tests.attention_clinic import ill_attention\n"
        "    return note('right ') or ill_attention.right()\n"
        "def other():\n"
        "    note('other ')\n",
        encoding="utf-8",
    )
    (tmp_path / "conftest.py").write_text("raise SystemExit", encoding="utf-8")
    path = [*sys.path]
    assert command.main(["model", f"{tmp_path / 'named_code.py'}:right"]) == 0
    assert (tmp_path / "ran").read_text() == "imported right "
    assert "named_code" not in sys.modules and sys.path == path


def test_it_runs_as_a_module_and_prints_english():
    done = subprocess.run(
        [sys.executable, "-m", "attention_clinic", "polyhead:causal_mask"], capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("✓ ")


def certificate(folder, name):
    code = command.main(["certificate", f"{FILE}:{name}", "--out", str(folder)])
    return code, (folder / "causality.md").read_text("utf-8"), ElementTree.parse(folder / "causality.svg")


def test_a_certificate_is_a_table_and_a_badge(tmp_path):
    code, table, badge = certificate(tmp_path / "new" / "folder", "leaking")
    assert code == 1
    assert table.startswith(f"# Causality certificate of `{FILE}:leaking`\n")
    assert re.search(rf"\d{{4}}-\d\d-\d\d, attention-clinic .*, torch {re.escape(torch.__version__)}", table)
    rows = [line.split(" | ")[:2] for line in table.splitlines() if line.startswith("| ")][1:]
    assert [law.removeprefix("| ") for law, _ in rows] == [*DECODER]
    assert ["| causality", "✗"] in rows and ["| batch", "✓"] in rows
    texts = [each.text for each in badge.iter("{http://www.w3.org/2000/svg}text")]
    assert texts == ["attention laws", f"{len(LAWS) - 3} of {len(LAWS)} hold"]
    code, table, badge = certificate(tmp_path, "right")
    assert code == 0 and "✗" not in table
    assert "#2a7f3f" in {each.get("fill") for each in badge.iter()}


def run_pytest(folder, *options):
    options = ["-q", *options, "-p", "no:cacheprovider", "-p", "attention_clinic_pytest"]
    return subprocess.run(
        [sys.executable, "-m", "pytest", *options, "--rootdir", str(folder), str(folder)],
        capture_output=True,
        text=True,
    )


def test_the_plugin_leaves_torch_alone_until_the_fixture_is_used(tmp_path):
    (tmp_path / "test_modules.py").write_text(
        "import sys\n"
        "def test_before(): assert 'attention_clinic_pytest' in sys.modules and 'torch' not in sys.modules\n"
        "def test_law(attention_law): assert 'torch' in sys.modules\n"
    )
    done = run_pytest(tmp_path)
    assert f"{1 + len(DECODER)} passed" in done.stdout, done.stdout + done.stderr


def test_the_plugin_names_every_law():
    assert attention_clinic_pytest.LAWS == DECODER


def test_the_fixture_is_a_test_for_each_law(tmp_path):
    (tmp_path / "test_model.py").write_text(
        f"""
import os, time
import pytest
import torch
from {NAMES} import leaking, right
from attention_clinic.planted import planted_decoder

def test_leaking(attention_law):
    attention_law(leaking)

def test_right(attention_law):
    attention_law(right)

def test_arguments(attention_law):
    attention_law(planted_decoder, bug="cache_open")

def test_function(attention_law):
    attention_law(lambda: lambda token_ids: torch.zeros(*token_ids.shape, 5) + token_ids.cumsum(1)[..., None])

def test_dying(attention_law):
    attention_law(lambda: os._exit(7))

def test_late(attention_law):
    attention_law(lambda: time.sleep(60), limit=0.1)
""",
        encoding="utf-8",
    )
    some = "right or causality or step or chunk or left_pad"  # a process for each law takes its time
    done = run_pytest(tmp_path, "-n0", "-rfs", "-k", some)
    failed = set(re.findall(r"^FAILED \S+::test_(\w+\[\w+)", done.stdout, re.MULTILINE))
    assert {name for name in failed if not name.startswith(("dying", "late"))} == {
        "leaking[causality", "leaking[step", "leaking[chunk", "arguments[chunk"
    }, done.stdout  # fmt: skip
    assert len([name for name in failed if name.startswith(("dying", "late"))]) == 2 * 4
    assert "exit code 7" in done.stdout and "0.1 seconds" in done.stdout
    assert "left_pad does not apply" in done.stdout
    assert "Off by" in done.stdout and "Traceback" not in done.stdout


def test_an_encoder_has_laws_of_its_own(capsys):
    command.main(["model", f"{FILE}:right", "--no-causal"])
    lines = [line.split()[:2] for line in capsys.readouterr().out.splitlines()]
    assert ["✗", "hears"] in lines
    assert "causality" not in [law for _, law in lines]
