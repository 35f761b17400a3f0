"""Loads settings from defaults, ``watchfloor.toml``, ``WATCHFLOOR_*`` variables and flags; each overrides those before.

The file is read from the working folder. If none is there, it is read from the stack's folder. An error names the file,
variable or flag that a bad value came from.
"""

from __future__ import annotations

import dataclasses
import logging
import os
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from watchfloor.schema.errors import SettingsError, suggest_names
from watchfloor.schema.files.paths import describe_error, show_path

from .ownership import find_foreign_writer
from .parse_setting import SettingType, parse_setting
from .settings import Settings

ENVIRONMENT = "WATCHFLOOR_"
FILE_NAME = "watchfloor.toml"
_DEFAULT_HOME = ".watchfloor"
_GUARDED_KINDS: tuple[SettingType, ...] = ("path", "host", "protocol", "user")
"""The settings that can name code, a host, a secret or whose it is, or say how a host is reached."""
log = logging.getLogger(__name__)


@dataclass(frozen=True)
class SettingDescription:
    """One setting as the manual describes it: its name in files, its variable, its default and its purpose."""

    name: str
    variable: str
    default: str
    doc: str


def describe_settings() -> Iterator[SettingDescription]:
    """Yields all settings in the order of ``Settings``."""
    for field in dataclasses.fields(Settings):
        name = _name_in_files(field)
        default = {"home": _DEFAULT_HOME, "jars": "store/java/target/jars"}.get(name, str(field.default or ""))
        yield SettingDescription(name, ENVIRONMENT + name.upper(), default, field.metadata["doc"])


def load_settings(home: str | Path | None = None, overrides: Mapping[str, Any] | None = None) -> Settings:
    """Returns the settings of this process.

    ``overrides`` are values of flags, by name, and override all others; None counts as not given. ``home`` is the flag
    of that name. Raises ``SettingsError`` for a bad value or an unknown name, and names where it came from.
    """
    flags = {name: value for name, value in (overrides or {}).items() if value is not None}
    if home is not None:
        flags["home"] = home
    variables = {
        _name_in_files(field): value
        for field in dataclasses.fields(Settings)
        if (value := os.environ.get(ENVIRONMENT + _name_in_files(field).upper()))
    }
    chosen = flags.get("home") or variables.get("home")
    file = _read_file(Path.cwd() / FILE_NAME, is_named=False)
    if not file[0]:
        file = _read_file(Path(chosen or _DEFAULT_HOME).expanduser() / FILE_NAME, is_named=chosen is not None)
    return _merge_layers([file, (variables, "the environment, " + ENVIRONMENT), (flags, "a flag, ")])


def read_named_file(path: Path) -> dict[str, Any]:
    """Returns the values of a settings file that the user has named.

    Raises ``SettingsError`` if the file cannot be read, or if another user could have written it.
    """
    try:
        reason = find_foreign_writer(path)
        values = tomllib.loads(path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise SettingsError(f"{show_path(path)} cannot be read: {describe_error(error)}") from error
    if reason:
        raise SettingsError(
            f"{show_path(path)} is not used: {reason}, and settings can name programs and hosts; take it away"
        )
    return values


def _merge_layers(layers: list[tuple[dict[str, Any], str]]) -> Settings:
    """Returns the settings of layers of values, of which later ones win; each has a text that names its origin."""
    fields = {_name_in_files(field): field for field in dataclasses.fields(Settings)}
    values: dict[str, Any] = {}
    for layer, origin in layers:
        for name, raw in layer.items():
            if name not in fields:
                raise SettingsError(f"{origin}{name}: unknown setting {name!r}{suggest_names(name, fields)}")
            meta = fields[name].metadata
            label = origin + (name.upper() if origin.endswith(ENVIRONMENT) else name)
            try:
                values[fields[name].name] = parse_setting(raw, meta["kind"], meta["low"], meta["high"])
            except ValueError as error:
                raise SettingsError(f"{label}: {error}") from None
    return Settings(**values)


def _read_file(path: Path, is_named: bool) -> tuple[dict[str, Any], str]:
    """Returns the values of a settings file, and a text that names their origin; no values if there is no file.

    A file that another user could have written is not believed. Neither is a file that merely lies where the command
    runs, if it names a path, a host or a user: the folder may have been copied from somebody, and so have been made to
    run their programs, or to send passwords to them. The log says what is ignored. ``is_named`` is true if the user has
    named the file's folder.
    """
    try:
        if reason := find_foreign_writer(path):
            _warn_once(f"{show_path(path)} is ignored: {reason}")
            return {}, ""
        values = tomllib.loads(path.read_text("utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        return {}, ""
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise SettingsError(f"{show_path(path)} cannot be read: {describe_error(error)}") from error
    if not is_named:
        for field in dataclasses.fields(Settings):
            name = _name_in_files(field)
            if field.metadata["kind"] in _GUARDED_KINDS and values.pop(name, None) is not None:
                _warn_once(
                    f"{show_path(path)}, {name} is ignored: a file of the working folder may not name paths, hosts or "
                    f"users; use {ENVIRONMENT}{name.upper()}, or --config {show_path(path)}"
                )
    return values, f"{show_path(path)}, "


@cache
def _warn_once(message: str) -> None:
    log.warning(message)


def _name_in_files(field: dataclasses.Field[Any]) -> str:
    """Returns the name of a field of ``Settings`` in files and variables."""
    return field.metadata["name"] or field.name
