"""What `import polyhead` brings, and how its public names are told."""

from __future__ import annotations

import inspect
import subprocess
import sys

import jaxtyping
import pytest

import polyhead


def run(code: str) -> str:
    result = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_import_loads_nothing_heavy_and_works_without_beartype():
    heavy = "{'matplotlib', 'scipy', 'sphinx', 'pandas', 'beartype', 'fontTools'}"
    loaded = run(
        "import sys; sys.modules['beartype'] = None\n"
        "import polyhead, torch\n"
        "x = torch.ones(2, 3, 7)\n"
        "polyhead.scaled_dot_product_attention(x, x, x, polyhead.causal_mask(3))\n"
        f"print(sorted({heavy} & {{name.split('.')[0] for name, module in sys.modules.items() if module}}))"
    )
    assert loaded.splitlines() == ["[]"]


def test_these_tests_check_types_beyond_the_public_functions():
    with pytest.raises(jaxtyping.TypeCheckError):
        polyhead.functional.hide_unseen(7, 7, 7, None)


def test_public_names_are_sorted_documented_and_typed():
    module = polyhead
    assert module.__all__ == sorted(module.__all__)
    for name in module.__all__:
        thing = getattr(module, name)
        assert inspect.getdoc(thing)
        signature = inspect.signature(thing.__init__ if inspect.isclass(thing) else thing)
        assert signature.return_annotation is not inspect.Signature.empty
        untyped = [p for p in signature.parameters.values() if p.annotation is p.empty and p.name != "self"]
        assert not untyped
