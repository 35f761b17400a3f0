"""Loads settings from defaults, ``watchfloor.toml``, ``WATCHFLOOR_*`` variables and flags; each overrides those before.

The file is read from the working folder. If none is there, it is read from the stack's folder. An error names the file,
variable or flag that a bad value came from.
"""

from __future__ import annotations

import dataclasses
import os
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from watchfloor.schema.errors import SettingsError, suggest_names

from .parse_setting import parse_setting
from .settings import Settings

ENVIRONMENT = "WATCHFLOOR_"
FILE_NAME = "watchfloor.toml"
_DEFAULT_HOME = ".watchfloor"


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
    layers = [_read_file(Path.cwd() / FILE_NAME), (variables, "the environment, " + ENVIRONMENT), (flags, "a flag, ")]
    if not layers[0][0]:
        chosen = flags.get("home") or variables.get("home") or _DEFAULT_HOME
        layers[0] = _read_file(Path(chosen).expanduser() / FILE_NAME)
    return _merge_layers(layers)


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


def _read_file(path: Path) -> tuple[dict[str, Any], str]:
    """Returns the values of a settings file, and a text that names their origin; no values if there is no file."""
    try:
        return tomllib.loads(path.read_text()), f"{path}, "
    except (FileNotFoundError, NotADirectoryError):
        return {}, ""
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise SettingsError(f"{path} cannot be read: {error}") from error


def _name_in_files(field: dataclasses.Field[Any]) -> str:
    """Returns the name of a field of ``Settings`` in files and variables."""
    return field.metadata["name"] or field.name
