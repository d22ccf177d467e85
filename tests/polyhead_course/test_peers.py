"""Other people's packages: quiet, and with nothing pretended afterwards."""

from __future__ import annotations

import subprocess
import sys
import types
import warnings

import pytest
import torch

from polyhead_course import peers


def test_d2l_is_the_package_itself_and_says_nothing():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        module = peers.d2l()
        attention = module.MultiHeadAttention(6, 2, 0.0)
        assert attention(*[torch.ones(2, 3, 6)] * 3, torch.tensor([3, 2])).shape == (2, 3, 6)
    assert module.__name__ == type(attention).__module__ == "d2l.torch"
    assert sys.modules["d2l"].__version__ == "1.0.3"
    assert peers.d2l() is module


def python(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return done.stdout


def test_without_torchvision_a_stand_in_is_there_while_d2l_is_imported_and_only_then():
    code = """
import sys
class Hide:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "torchvision":
            raise ImportError("hidden")
sys.meta_path.insert(0, Hide())
from polyhead_course import peers
assert "d2l" not in sys.modules
print(peers.d2l().MultiHeadAttention.__name__, "torchvision" in sys.modules)
"""
    assert python(code) == "MultiHeadAttention False\n"


def test_a_real_torchvision_stays():
    code = """
import sys, types
real, sys.modules["torchvision.transforms"] = types.ModuleType("torchvision"), types.ModuleType("transforms")
real.transforms = sys.modules["torchvision.transforms"]
sys.modules["torchvision"] = real
from polyhead_course import peers
peers.d2l()
print(sys.modules["torchvision"] is real)
"""
    assert python(code) == "True\n"


@pytest.mark.parametrize("error", [ImportError, RuntimeError, OSError])
def test_a_broken_torchvision_is_replaced(monkeypatch, error):
    asked = []

    def broken(name: str) -> types.ModuleType:
        if name == "torchvision":
            raise error("operator torchvision::nms does not exist")
        asked.append(name)
        assert sys.modules["torchvision"].transforms is sys.modules["torchvision.transforms"]
        return types.ModuleType(name)

    before = {name for name in sys.modules if name.startswith("torchvision")}
    monkeypatch.setattr(peers.importlib, "import_module", broken)
    peers.d2l()
    assert asked == ["d2l.torch"]
    assert {name for name in sys.modules if name.startswith("torchvision")} == before


def test_without_d2l_it_is_an_import_error_that_names_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "d2l", None)
    monkeypatch.delitem(sys.modules, "d2l.torch", raising=False)
    before = "torchvision" in sys.modules
    with pytest.raises(ImportError, match="d2l"):
        peers.d2l()
    assert ("torchvision" in sys.modules) == before
