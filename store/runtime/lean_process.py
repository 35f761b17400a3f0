"""Keeps pandas out of processes that never use it: commands and workers."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType


class PandasRefusal:
    """A finder of modules that finds no pandas, and leaves all others to the finders after it."""

    @staticmethod
    def find_spec(name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> ModuleSpec | None:
        """Returns None for any module but pandas, for which it raises ``ModuleNotFoundError``."""
        if name == "pandas":
            raise ModuleNotFoundError("commands and workers leave pandas out", name=name)
        return None


def leave_out_pandas() -> None:
    """Makes ``import pandas`` fail in this process, unless it is imported already.

    Arrow imports pandas, where it is installed, for the first array that it makes, which takes 0.3 s.
    """
    sys.meta_path.insert(0, PandasRefusal)
