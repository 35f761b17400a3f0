"""Tells by the keys of Zeek's JSON lines, and by the names of their files, to which log they belong."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from watchfloor.ingest.formats.json.json_infer import iter_leaves
from watchfloor.ingest.formats.json.json_values import PLAIN, Record
from watchfloor.schema.definition import EXTRA_FIELD, builtin_definitions
from watchfloor.schema.source import Source

from .zeek_fields import FAMILY

_WORDS = re.compile(r"[^a-z0-9]+")
_SHIPPERS_MARKS = ("@", "_")
"""Keys that begin so are added by the tools that carry logs, to those of every log."""
_MOST_UNKNOWN = 0.25
"""The share of keys that the nearest log may lack."""
_SHOWN_LOGS = 5


@dataclass(frozen=True)
class LogKeys:
    """The keys of each known log, with dots and underscores alike."""

    keys: Mapping[str, frozenset[str]]

    def find_fitting(self, keys: Collection[str]) -> list[str]:
        """Returns the logs that have all of the keys; only those that have no others, if there are such."""
        wanted = set(keys)
        fitting = [log for log, known in self.keys.items() if wanted <= known]
        return [log for log in fitting if self.keys[log] == wanted] or fitting

    def find_nearest(self, keys: Collection[str]) -> list[str]:
        """Returns the logs that lack the fewest of the keys, if these are few."""
        missing = {log: len(set(keys) - known) for log, known in self.keys.items()}
        fewest = min(missing.values(), default=0)
        return [log for log, count in missing.items() if count == fewest <= _MOST_UNKNOWN * len(keys)]

    def find_named(self, path: Path) -> str:
        """Returns the log after which a file is named, as ``conn.log.gz`` and ``sensor1_smb_files.2024-03-05.log`` are.

        Returns the longest name among the words of the file's name, the last of several; empty if there is none.
        """
        words = [word for word in _WORDS.split(path.name.lower()) if word]
        runs = ("_".join(words[start:end]) for end in range(1, len(words) + 1) for start in range(end))
        named = [run for run in runs if run in self.keys]
        return max(reversed(named), key=lambda run: run.count("_"), default="")


def log_keys(sources: Iterable[Source]) -> LogKeys:
    """Returns the keys of the logs among the sources."""
    return LogKeys(
        {
            source.name.partition(".")[2]: frozenset(_key_form(f.name) for f in source.fields if f.name != EXTRA_FIELD)
            for source in sources
            if source.name.startswith(f"{FAMILY}.")
        }
    )


@cache
def shipped_log_keys() -> LogKeys:
    """Returns the keys of the logs whose definitions ship."""
    return log_keys(builtin_definitions().values())


def keys_of_records(records: Iterable[Record]) -> set[str]:
    """Returns the keys of records that have a value, as ``LogKeys`` has them."""
    names = (name for record in records for name, _ in iter_leaves(record, PLAIN))
    return {_key_form(name) for name in names if not name.startswith(_SHIPPERS_MARKS)}


class LineLogs:
    """Tells the log of single lines that do not name it, by the definitions that ship."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, ...], list[str]] = {}

    def find_logs(self, record: Record) -> list[str]:
        """Returns the logs to which a line may belong."""
        if any(value is None or isinstance(value, dict) for value in record.values()):
            return _find_logs(record)
        keys = tuple(record)
        if keys not in self._known:
            self._known[keys] = _find_logs(record)
        return self._known[keys]


def _find_logs(record: Record) -> list[str]:
    keys, known = keys_of_records([record]), shipped_log_keys()
    return known.find_fitting(keys) or known.find_nearest(keys)


def list_logs(logs: Sequence[str]) -> str:
    """Returns the names of the sources of the first few logs, for messages."""
    return ", ".join(f"{FAMILY}.{log}" for log in logs[:_SHOWN_LOGS]) + (", …" if len(logs) > _SHOWN_LOGS else "")


def _key_form(name: str) -> str:
    return name.replace(".", "_")
