"""Compares values that were read from YAML with the JSON schemas in `schemas/`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator as Validator


def load_schema(name: str) -> dict[str, Any]:
    """Read a schema of this package.

    >>> load_schema("cell")["required"]
    ['id']
    """
    schema: dict[str, Any] = json.loads((Path(__file__).parent / "schemas" / f"{name}.json").read_bytes())
    return schema


def problems(value: object, schema: Mapping[str, Any]) -> list[str]:
    """List what is wrong with a value; the `description` of a schema is what it expects.

    >>> problems({"tags": 5}, load_schema("cell"))
    ["expected a header with an id, got {'tags': 5}", 'tags: expected a list of words, got 5']
    """
    wrong = []
    for error in Validator(schema, format_checker=Validator.FORMAT_CHECKER).iter_errors(value):
        path = "".join(f"{key}: " for key in error.absolute_path)
        expected = error.schema.get("description")
        wrong.append(path + (f"expected {expected}, got {error.instance!r}" if expected else error.message))
    return wrong
