"""Guesses the ECS names of fields whose definitions are derived from the lines of a log.

``common_names.json`` has names that fields have in many logs, and the ECS name of each for some types. A name that
means different things in different logs is not in it: no ECS name is better than a wrong one.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from importlib.resources import files

from .ecs import can_have_type, is_ecs_name


def guess_ecs_name(name: str, scalar: str) -> str:
    """Returns the ECS name of a field by its name and the type of its values (``ip``, ``string``, …).

    A name with dots that is an ECS name stands for itself. Of other names case does not count, and dots and hyphens are
    as good as underscores. Returns an empty text for a name that is not common.
    """
    if "." in name and is_ecs_name(name) and can_have_type(name, scalar):
        return name
    return _load_common_names().get((name.lower().replace(".", "_").replace("-", "_"), scalar), "")


@cache
def _load_common_names() -> Mapping[tuple[str, str], str]:
    """Returns the ECS names by common name and type."""
    rows = json.loads((files(__package__) / "common_names.json").read_text("utf-8"))
    return {(name, scalar): row["ecs"] for row in rows for name in row["names"] for scalar in row["types"]}
