"""Resolves the global options of a command line: settings, an open store, a query service."""

from __future__ import annotations

import os
import sys
from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from watchfloor.api.formats.visible import escape_line_controls
from watchfloor.schema.files.paths import find_named_path, find_path

if TYPE_CHECKING:
    from watchfloor.query.service import QueryService
    from watchfloor.schema.settings.settings import Role, Settings
    from watchfloor.store.store import Store


def print_message(line: str) -> None:
    """Prints a line for people on standard error, its control characters written out."""
    print(escape_line_controls(line), file=sys.stderr, flush=True)


def read_settings(args: Namespace, **flags: Any) -> Settings:
    """Returns the settings. Flags override the environment, which overrides the file. A flag of None was not given."""
    from watchfloor.schema.settings.load import ENVIRONMENT, load_settings, read_named_file

    home = None if args.home is None else find_path(args.home)
    if args.config is None:
        return load_settings(home=home, overrides=flags)
    # ``load_settings`` would let these values override the environment, so those that it sets are left out.
    given = {
        k: v
        for k, v in read_named_file(find_named_path(args.config)).items()
        if not os.environ.get(ENVIRONMENT + k.upper())
    }
    return load_settings(home=home, overrides=given | {k: v for k, v in flags.items() if v is not None})


@contextmanager
def open_store(settings: Settings, role: Role = "query") -> Iterator[Store]:
    """Opens a store with the rights of a role's user."""
    from watchfloor.store.store import Store

    with Store.open(settings, role=role) as store:
        yield store


@contextmanager
def open_service(args: Namespace) -> Iterator[QueryService]:
    """Opens a query service with the rights of the query user."""
    from watchfloor.query.service import QueryService

    with open_store(read_settings(args)) as store:
        yield QueryService(store)
