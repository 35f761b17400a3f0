"""``watchfloor serve``: the REST service."""

from __future__ import annotations

from argparse import Namespace

from watchfloor.api.cli.terminal.command_group import AddCommand
from watchfloor.api.cli.terminal.context import print_message, read_settings

POSITION = 70


def register(add: AddCommand) -> None:
    parser = add("serve", serve_rest, "the REST service, until it is stopped")
    parser.add_argument("--host", metavar="ADDRESS", help="address to listen on (default 127.0.0.1)")
    parser.add_argument("--port", metavar="PORT", type=int, help="port to listen on (default 8742; 0 picks one)")


def serve_rest(args: Namespace) -> None:
    from watchfloor.api.rest.serve import serve

    serve(read_settings(args, host=args.host, port=args.port), print_message)
