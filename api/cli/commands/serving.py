"""``watchfloor serve``: the REST service."""

from __future__ import annotations

from argparse import Namespace

from watchfloor.api.cli.terminal.command_group import AddCommand
from watchfloor.api.cli.terminal.context import print_message, read_settings

POSITION = 70


def register(add: AddCommand) -> None:
    parser = add("serve", serve_rest, "the REST service, until it is stopped")
    parser.add_argument("--host", metavar="ADDRESS", help="address to listen on (default 127.0.0.1)")
    parser.add_argument("--tls-certificate", metavar="FILE", help="PEM file of a certificate: speak HTTPS")
    parser.add_argument("--tls-key", metavar="FILE", help="PEM file (mode 0600) of the certificate's key")
    parser.add_argument("--port", metavar="PORT", type=int, help="port to listen on (default 8742; 0 picks one)")


def serve_rest(args: Namespace) -> None:
    from watchfloor.api.rest.serve import serve

    listen = {name: getattr(args, name) for name in ("host", "port", "tls_certificate", "tls_key")}
    serve(read_settings(args, **listen), print_message)
