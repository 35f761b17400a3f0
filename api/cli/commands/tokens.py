"""``watchfloor token``: the bearer tokens of the REST service."""

from __future__ import annotations

from argparse import Namespace
from typing import TYPE_CHECKING

from watchfloor.api.cli.terminal.command_group import AddCommand
from watchfloor.api.cli.terminal.context import print_message, read_settings
from watchfloor.api.cli.terminal.rows import add_format, print_rows
from watchfloor.schema.choices import TOKEN_ROLES
from watchfloor.schema.files.paths import show_path

if TYPE_CHECKING:
    from watchfloor.api.tokens.token import Token
    from watchfloor.api.tokens.token_file import TokenFile

POSITION = 75
COLUMNS = ("name", "role", "authorizations", "sources", "created", "expires", "state")


def register(add: AddCommand) -> None:
    parser = add("token", list_tokens, "the bearer tokens of the REST service")
    add_format(parser)
    actions = parser.add_subparsers(metavar="[list | create NAME | rotate NAME | revoke NAME]")
    listing = actions.add_parser(
        "list", help="names, roles, labels, sources and expiries (the default)", allow_abbrev=False
    )
    add_format(listing)
    listing.set_defaults(run=list_tokens)
    create = actions.add_parser("create", help="make a token and print it, once", allow_abbrev=False)
    create.add_argument("name", metavar="NAME")
    create.add_argument("--role", choices=TOKEN_ROLES, metavar="|".join(TOKEN_ROLES), default=TOKEN_ROLES[0])
    sees = create.add_mutually_exclusive_group()
    sees.add_argument(
        "--labels",
        "--authorizations",
        dest="labels",
        metavar="A,B",
        help="the labels whose data it sees (default: only data without one)",
    )
    sees.add_argument("--all-labels", action="store_true", help="all data that the query user sees, now and later")
    create.add_argument(
        "--sources", metavar="A,B", help="the sources that it knows, by names and patterns: zeek.* (default: all)"
    )
    create.add_argument(
        "--expires", metavar="DURATION", help="how long it is in force: 90d, 8h (default: until revoked)"
    )
    create.set_defaults(run=create_token)
    rotate = actions.add_parser("rotate", help="print a new token; the old one ends at once", allow_abbrev=False)
    rotate.add_argument("name", metavar="NAME")
    rotate.set_defaults(run=rotate_token)
    revoke = actions.add_parser("revoke", help="end a token and its running queries", allow_abbrev=False)
    revoke.add_argument("name", metavar="NAME")
    revoke.set_defaults(run=revoke_token)


def list_tokens(args: Namespace) -> None:
    """Prints what is known of each token; never a token."""
    file = _open_file(args)
    tokens = file.read_tokens() if file.path.exists() else ()
    print_rows([_describe_token(token) for token in tokens], COLUMNS, args.format)


def create_token(args: Namespace) -> None:
    """Makes a token and prints it alone on standard output."""
    import time

    from watchfloor.schema.times import parse_duration

    labels = None if args.all_labels else () if args.labels is None else args.labels.split(",")
    sources = None if args.sources is None else args.sources.split(",")
    now = time.time_ns() // 1000
    expires = None if args.expires is None else now + parse_duration(args.expires)
    print(_open_file(args).create_token(args.name, args.role, labels, expires, sources), flush=True)
    print_message(f"this is the token of {args.name}: keep it, it is shown only once")
    if args.role != "analyst" and (labels is not None or sources is not None):
        print_message("it knows of ingest what these labels and sources show; with --all-labels alone all, and metrics")


def rotate_token(args: Namespace) -> None:
    """Prints a new token in the place of one, alone on standard output."""
    print(_open_file(args).rotate_token(args.name), flush=True)
    print_message(f"this is the new token of {args.name}: keep it, it is shown only once; the old one has ended")


def revoke_token(args: Namespace) -> None:
    """Ends a token."""
    _open_file(args).revoke_token(args.name)
    print_message(f"{args.name} is revoked; its running queries end within two seconds")


def _open_file(args: Namespace) -> TokenFile:
    """Returns the file of tokens, in its present form."""
    from watchfloor.api.tokens.token_file import TokenFile

    file = TokenFile(read_settings(args).secret_folder)
    if file.upgrade():
        print_message(f"{show_path(file.path)} is in the present form now")
    return file


def _describe_token(token: Token) -> dict[str, str | None]:
    from watchfloor.schema.times import format_micros

    return {
        "name": token.name,
        "role": token.role,
        "authorizations": "all" if token.authorizations is None else ",".join(token.authorizations),
        "sources": "all" if token.sources is None else ",".join(token.sources),
        "created": format_micros(token.created),
        "expires": None if token.expires is None else format_micros(token.expires),
        "state": "expired" if token.is_expired else "in force",
    }
