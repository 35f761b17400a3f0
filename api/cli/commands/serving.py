"""``watchfloor serve``: the REST service."""

from __future__ import annotations

from argparse import Namespace

from watchfloor.api.cli.terminal.context import Add, say, settings_of


def register(add: Add) -> None:
    parser = add("serve", serve, "the REST service, until it is stopped")
    parser.add_argument("--host", metavar="ADDRESS", help="address to listen on (default 127.0.0.1)")
    parser.add_argument("--port", metavar="PORT", type=int, help="port to listen on (default 8742; 0 picks one)")


def serve(args: Namespace) -> None:
    from watchfloor.api.rest.serve import serve as run

    run(settings_of(args, host=args.host, port=args.port), say)
