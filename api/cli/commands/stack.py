"""``watchfloor up``, ``down`` and ``status``: the local stack; ``iterators``: what a cluster's servers need."""

from __future__ import annotations

from argparse import ArgumentParser, BooleanOptionalAction, Namespace
from typing import TYPE_CHECKING

from watchfloor.api.cli.terminal.command_group import OK, OPERATOR, AddCommand
from watchfloor.api.cli.terminal.context import print_message, read_settings
from watchfloor.api.formats.visible import escape_line_controls
from watchfloor.schema.files.paths import show_path

if TYPE_CHECKING:
    from watchfloor.store.stack.status import StackStatus

POSITION = 10


def register(add: AddCommand) -> None:
    parser = add("up", start_stack, "start the local stack, or what is missing of it")
    parser.add_argument(
        "--tservers", metavar="N", type=int, help="tablet servers from now on (default: as before, or 1)"
    )
    add_flavour(parser)
    parser.add_argument(
        "--small",
        action=BooleanOptionalAction,
        help="as little memory for the servers as they can do with, from now on, or by the machine's (default: as "
        "before, or by the machine's)",
    )
    add("down", stop_stack, "stop the local stack; its data stays")
    parser = add("status", show_status, "the servers, their memory, tablets and entries, and the queue's lag")
    parser.add_argument("--json", action="store_true", help="for programs")
    parser = add("iterators", check_iterators, "whether the tablet servers have this version's iterators")
    actions = parser.add_subparsers(metavar="[check | install]")
    check = actions.add_parser("check", help="fail if they have none or others (the default)", allow_abbrev=False)
    check.set_defaults(run=check_iterators)
    install = actions.add_parser(
        "install", help="put the jar on the cluster's volume, for Watchfloor's tables", allow_abbrev=False
    )
    install.set_defaults(run=install_iterators)


def add_flavour(parser: ArgumentParser) -> None:
    """Adds the flags that choose the flavour of a stack."""
    parser.add_argument(
        "--security",
        metavar="LEVEL",
        choices=("none", "ssl", "auth", "auth-int", "auth-conf"),
        help="none, ssl (two-way TLS), or Kerberos: auth, auth-int, auth-conf; from now on (default: as before, none)",
    )
    parser.add_argument("--hdfs", action="store_true", help="keep Accumulo's files in HDFS, from the first start on")
    parser.add_argument(
        "--datanodes", metavar="N", type=int, help="DataNodes of HDFS from now on (default: as before, or 3)"
    )


def start_stack(args: Namespace) -> None:
    from watchfloor.ingest.queue.first_load import prepare_first_load
    from watchfloor.schema.errors import OperatorError
    from watchfloor.store.stack.stack import has_standing_workers, read_datanodes, start_stack

    settings = read_settings(args, tservers=args.tservers)
    datanodes = args.datanodes
    if datanodes is None and args.hdfs:
        datanodes = read_datanodes(settings)
    start_stack(settings, args.tservers, print_message, args.security, datanodes, args.small)
    try:
        if not has_standing_workers(settings):
            prepare_first_load(settings)
    except OperatorError as error:  # whatever uses the stack next says what is still wrong
        print_message(f"not ready for a load yet: {error}")
    print_message(f"the stack is up in {show_path(settings.home)}; `watchfloor down` stops it")


def stop_stack(args: Namespace) -> None:
    from watchfloor.store.stack.stack import stop_stack

    stop_stack(read_settings(args), print_message)


def show_status(args: Namespace) -> int:
    """Prints the status of the stack and of the file of tokens; returns OPERATOR if something is wrong."""
    import dataclasses
    import json

    from watchfloor.api.tokens.token_file import TokenFile
    from watchfloor.ingest.queue.work_queue import queue_lag
    from watchfloor.store.stack.status import read_status

    settings = read_settings(args)
    stack = read_status(settings, queue_lag)
    if damage := TokenFile(settings.secret_folder).find_damage():
        stack = dataclasses.replace(stack, problems=(*stack.problems, damage))
    if args.json:
        more = {"dead_letters": count_dead_letters(stack), "healthy": stack.is_healthy}
        print(json.dumps({**dataclasses.asdict(stack), **more}, indent=2, default=show_path))
    else:
        print(escape_line_controls("\n".join(format_status(stack))))
    return OK if stack.is_healthy else OPERATOR


def check_iterators(args: Namespace) -> None:
    """Asks the tablet servers for the version of their iterators. Raises ``StoreError`` if it is not this client's."""
    from watchfloor.store.admin.server_iterators import check_all_iterators
    from watchfloor.store.admin.tables import SIGHTINGS_TABLE
    from watchfloor.store.bridge.connection import Connection

    settings = read_settings(args)
    with Connection.open(settings, settings.read_credentials("query")) as connection:
        if not connection.client.tableOperations().exists(SIGHTINGS_TABLE):
            print_message("no tables yet: `watchfloor iterators install` makes them, or the first load")
            return
        print_message(f"the tablet servers have iterators {check_all_iterators(settings, connection)}")


def install_iterators(args: Namespace) -> None:
    """Puts the jar with the iterators on the cluster, as the ingest user, and makes the instance's tables."""
    from watchfloor.store.admin.server_iterators import client_version, install_iterators
    from watchfloor.store.admin.tables import create_instance_tables
    from watchfloor.store.bridge.connection import Connection

    settings = read_settings(args)
    with Connection.open(settings, settings.read_credentials("ingest")) as connection:
        # An administrator need not be able to read what another user has made.
        create_instance_tables(connection, [settings.read_credentials(role).user for role in ("ingest", "query")])
        path = install_iterators(settings, connection)
        print_message(f"the tablet servers have iterators {client_version()}, from {path}")


def format_status(stack: StackStatus) -> list[str]:
    """Returns the status as lines for people: servers, tables, the queue, and what is wrong."""
    servers = [["server", "state", "pid", "memory", "up for", "restarts", "ports"]]
    for s in stack.servers:
        ports = ", ".join(f"{name} {port}" for name, port in s.ports.items())
        memory = f"{s.memory >> 20:,} MiB" + (f" (heap {s.heap >> 20:,})" if s.heap else "")
        runs = [str(s.pid), memory, _format_uptime(s.uptime)] if s.pid else ["", "", ""]
        restarts = f"{s.restarts.count:,}" if s.restarts.count else ""
        servers.append([s.name, s.state, *runs, restarts, ports])
    tables = [["table", "tablets", "served", "entries", "in memory"]]
    for t in stack.tables:
        numbers = (t.tablets, t.served, t.entries, t.in_memory)
        tables.append([t.name if t.online else f"{t.name} (offline)", *(f"{n:,}" for n in numbers)])
    out = [f"stack in {stack.home}" + (f": {stack.flavour}" if stack.flavour else ""), ""]
    for grid in (servers, tables):
        if len(grid) > 1:
            out += [*_align_columns(grid), ""]
    if stack.sizes:
        chosen = "as little as they can do with" if stack.small else "by the machine's, where they are not set"
        out.append(f"sizes: {', '.join(f'{name} {size}' for name, size in stack.sizes.items())}; {chosen}")
    if stack.costs:
        out.append(f"costs of reading: {stack.costs}")
    if stack.disk is not None:
        out.append(f"disk: {stack.disk.free >> 20:,} MiB free, ingest pauses below {stack.disk.reserve >> 20:,} MiB")
    if stack.lag is not None:
        out.append(f"queue: {stack.lag:,} work item{'s' if stack.lag != 1 else ''} waiting")
    if letters := count_dead_letters(stack):
        noun = "message that is no work item" if letters == 1 else "messages that are no work items"
        out.append(f"dead letters: {letters:,} {noun}; see `watchfloor items --dead-letters`")
    return out + [f"problem: {problem}" for problem in stack.problems]


def count_dead_letters(stack: StackStatus) -> int:
    """Returns the number of dead letters. One that was written twice counts twice until a compaction."""
    from watchfloor.store.admin.tables import DEAD_LETTERS_TABLE

    return next((table.entries for table in stack.tables if table.name == DEAD_LETTERS_TABLE), 0)


def _align_columns(grid: list[list[str]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*grid, strict=True)]
    return ["  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)).rstrip() for row in grid]


def _format_uptime(seconds: float) -> str:
    minutes, seconds = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}h{minutes:02}m" if hours else f"{minutes}m{seconds:02}s"
