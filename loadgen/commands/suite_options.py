"""Options that the commands of the public suites share."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from watchfloor.api.cli.terminal.context import read_settings
from watchfloor.schema.files.paths import find_named_path

if TYPE_CHECKING:
    from watchfloor.schema.settings.settings import Settings


def add_number(parser: ArgumentParser, flag: str, default: int, counted: str) -> None:
    """Adds an option that takes a whole number; its help ends with the default."""
    parser.add_argument(flag, metavar="N", type=int, default=default, help=f"{counted} (default {default:,})")


def add_cluster(parser: ArgumentParser) -> None:
    """Adds ``--properties``, by which a suite runs on an existing cluster."""
    parser.add_argument(
        "--properties", metavar="FILE", type=find_named_path, help="accumulo-client.properties of an existing cluster"
    )


def read_cluster_settings(args: Namespace) -> Settings:
    """Returns the settings, with the cluster that ``--properties`` names."""
    return read_settings(args, client_properties=args.properties)
