"""What hatch puts into a distribution: this folder as the package, and beside it the plugin for pytest.

Pytest imports plugins at every start, and the package imports torch, so the plugin is outside of it: in the
repository above this folder, in a source distribution in it.
"""

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PLUGIN = "attention_clinic_pytest.py"
APART = {PLUGIN, "pyproject.toml", "README.md", "PKG-INFO", ".gitignore"}


class Layout(BuildHookInterface[Any]):
    """Says where each file goes."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add the plugin, and to a wheel the package."""
        root, included = Path(self.root), build_data["force_include"]
        included[str(next(p / PLUGIN for p in (root, root.parent) if (p / PLUGIN).exists()))] = PLUGIN
        for file in sorted(root.rglob("*.*")) if self.target_name == "wheel" else ():
            if file.is_file() and file.name not in APART and file.suffix != ".pyc":
                included[str(file)] = f"attention_clinic/{file.relative_to(root)}"
