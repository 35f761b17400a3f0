"""One exception tree, split by who must act.

WatchfloorError
├── UserError                the request must change (REST: 4xx; command line: exit 2)
│   ├── FilterError          a filter's text, with the place (``position``) and a caret in its message
│   │   ├── UnknownFieldError  with the nearest names
│   │   └── ListError        a list, or a query within the filter, that cannot be used
│   ├── UnknownSourceError, UnknownListError, UnknownEventError, UnknownLineError, UnknownSearchError
│   ├── TimeRangeError
│   ├── DefinitionError      a source definition that breaks its schema
│   ├── InputFileError       a log file that cannot be read, or whose kind is not known
│   │   └── UnreachableFileError  … that this host cannot open; another one may
│   └── RuleError            a Sigma rule that cannot be read or converted
├── OperatorError            the installation must change (REST: 503; command line: exit 3)
│   ├── StoreError           Accumulo is down, or refused a write: names the table and the cause
│   ├── QueueError           Kafka is down
│   ├── StackError           a local server that does not start: port, memory, disk, missing tool
│   └── SettingsError        a settings file or variable with a bad value
└── InternalError            we must act: a broken promise inside Watchfloor
"""

from __future__ import annotations

from collections.abc import Iterable

from .text import shorten

_LONGEST_NAME = 200
"""The largest number of characters in a field's name; errors cut longer names."""


class WatchfloorError(Exception):
    """Base of all errors that Watchfloor raises on purpose. The message can be shown to users."""


class UserError(WatchfloorError):
    """A fault of the request, which must change."""


class FilterError(UserError):
    """A filter that does not parse or does not fit its source.

    ``text`` is the whole filter, ``position`` the 0-based character that the error points to. ``reason`` is the message
    as it is said where the source is named already.
    """

    def __init__(self, message: str, text: str = "", position: int = 0, reason: str = "") -> None:
        self.message, self.text, self.position, self.reason = message, text, position, reason or message
        super().__init__(f"{message}\n{point_at(text, position)}" if text else message)


class UnknownSourceError(UserError):
    """A name that no source of the store has."""

    def __init__(self, name: str, known: Iterable[str]) -> None:
        super().__init__(f"unknown source {name!r}{suggest_names(name, known)}")


class UnknownFieldError(FilterError):
    """A name that no field of the source has.

    ``known`` are the names of its fields, and ``further`` other names that would do in the same place.
    """

    def __init__(
        self,
        field: str,
        source: str,
        known: Iterable[str],
        text: str = "",
        position: int = 0,
        further: Iterable[str] = (),
    ) -> None:
        named = shorten(field, _LONGEST_NAME + 1)
        lack = f"has no field {named!r}{suggest_names(named, known, further)}"
        super().__init__(f"source {source} {lack}", text, position, f"it {lack}")


class UnknownListError(UserError):
    """A name that no list has which the reader sees."""

    def __init__(self, name: str, known: Iterable[str]) -> None:
        named = shorten(name, _LONGEST_NAME + 1)
        super().__init__(f"unknown list {named!r}{suggest_names(named, known)}")


class UnknownEventError(UserError):
    """An ID that no event has which the reader sees."""

    def __init__(self) -> None:
        super().__init__("no event has this ID; give it exactly as it was given to you, the event may be gone too")


class UnknownSearchError(UserError):
    """A name that no search of its owner has."""

    def __init__(self) -> None:
        super().__init__("no search of yours has this name")


class UnknownLineError(UserError):
    """A name that no quarantined line has."""


class ListError(FilterError):
    """A list, or a query within a filter, that cannot be used, whatever the source of the filter."""


class TimeRangeError(UserError):
    """A time that cannot be read, or a range that ends before it begins."""


class DefinitionError(UserError):
    """A source definition that breaks the definition schema."""


class InputFileError(UserError):
    """A log file that cannot be read, or whose kind is not known."""


class UnreachableFileError(InputFileError):
    """A log file that this host cannot open, while another one may: ``why`` says what its system answers."""

    def __init__(self, path: str, why: str) -> None:
        self.why = why
        super().__init__(f"{path}: cannot be read: {why}")


class UnsettledFileError(InputFileError):
    """A log file that has changed since it was queued, while all of its content is still being found out."""


class RuleError(UserError):
    """A Sigma rule that cannot be read or converted."""


class OperatorError(WatchfloorError):
    """A fault of the installation, which must change."""


class StoreError(OperatorError):
    """Accumulo is down, or refused what it was given."""


class NoRoomError(OperatorError):
    """The disk of the stack has too little room for a write."""


class QueueError(OperatorError):
    """Kafka is down, or refused what it was given."""


class StackError(OperatorError):
    """A local server cannot be started or stopped."""


class SettingsError(OperatorError):
    """A setting with a bad value."""


class InternalError(WatchfloorError):
    """A defect of Watchfloor."""


def point_at(text: str, position: int, width: int = 96) -> str:
    """Returns at most ``width`` characters of the line of ``text`` around ``position``, and a caret under it."""
    start = text.rfind("\n", 0, position) + 1
    end = text.find("\n", position)
    line = text[start : len(text) if end < 0 else end].replace("\t", " ")
    column = min(position - start, len(line))
    cut = max(0, column - width // 2)
    return f"  {line[cut : cut + width]}\n  {' ' * (column - cut)}^"


def suggest_names(name: str, known: Iterable[str], further: Iterable[str] = ()) -> str:
    """Returns the end of an error message: ``; did you mean a, b?`` with similar names, or a few known names.

    Of ``further`` names only similar ones are named.
    """
    import difflib  # only a mistake needs it

    names = sorted(known)
    near = difflib.get_close_matches(name, sorted({*names, *further}), n=3, cutoff=0.5)
    # Matching by spelling misses a known name whose last part is ``name``, as "orig_h" for "id.orig_h".
    near += [k for k in names if k not in near and name and k.rpartition(".")[2] == name][:2]
    if near:
        return f"; did you mean {', '.join(near)}?"
    if not names:
        return "; none is known yet"
    return f"; known are {', '.join(names[:8])}{', …' if len(names) > 8 else ''}"
