"""``watchfloor metrics``: how Prometheus finds what the stack's processes and the service serve."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

from watchfloor.api.cli.terminal.command_group import AddCommand
from watchfloor.api.cli.terminal.context import print_message, read_settings

POSITION = 77
TOKEN_FILE = "metrics.token"


def register(add: AddCommand) -> None:
    parser = add("metrics", print_scrape_configuration, "the part of Prometheus' configuration that reads the metrics")
    parser.add_argument(
        "--token-file",
        metavar="FILE",
        help=f"file with a token of an operator with all labels (default: secret/{TOKEN_FILE} of the stack's folder)",
    )


def print_scrape_configuration(args: Namespace) -> None:
    """Prints the scrape configuration, and says on standard error what is missing for it."""
    import orjson

    from watchfloor.schema.files.paths import show_path
    from watchfloor.store.runtime.metrics_port import make_scrape_configuration

    settings = read_settings(args)
    token_file = Path(args.token_file or settings.secret_folder / TOKEN_FILE).absolute()
    if not token_file.is_file():
        where = show_path(token_file)
        print_message(f"{where} is missing: watchfloor token create metrics --role operator --all-labels > {where}")
    if not settings.has_metrics:
        print_message("only the REST service serves metrics: the setting `metrics` is off")
    configuration = make_scrape_configuration(settings, token_file)
    print(orjson.dumps(configuration, option=orjson.OPT_INDENT_2).decode())
