"""``watchfloor up``, ``down`` and ``status``: the local stack."""

from __future__ import annotations

from argparse import Namespace
from typing import TYPE_CHECKING

from watchfloor.api.cli.terminal.context import Add, say, settings_of

if TYPE_CHECKING:
    from watchfloor.store.stack.status import StackStatus


def register(add: Add) -> None:
    parser = add("up", up, "start the local stack, or what is missing of it")
    parser.add_argument(
        "--tservers", metavar="N", type=int, help="tablet servers from now on (default: as before, or 1)"
    )
    add("down", down, "stop the local stack; its data stays")
    parser = add("status", status, "the servers, their memory, tablets and entries, and the queue's lag")
    parser.add_argument("--json", action="store_true", help="for programs")


def up(args: Namespace) -> None:
    from watchfloor.store.stack.stack import up as run

    settings = settings_of(args, tservers=args.tservers)
    run(settings, args.tservers, say)
    say(f"the stack is up in {settings.home}; `watchfloor down` stops it")


def down(args: Namespace) -> None:
    from watchfloor.store.stack.stack import down as run

    run(settings_of(args), say)


def status(args: Namespace) -> int:
    import dataclasses
    import json

    from watchfloor.ingest.queue.work_queue import queue_lag
    from watchfloor.store.stack.status import status as run

    found = run(settings_of(args), queue_lag)
    if args.json:
        print(json.dumps({**dataclasses.asdict(found), "healthy": found.healthy}, indent=2))
    else:
        print("\n".join(lines(found)))
    return 0 if found.healthy else 3


def lines(found: StackStatus) -> list[str]:
    """A status for people: servers, tables, the queue, and what is wrong."""
    servers = [["server", "state", "pid", "memory", "up for", "ports"]]
    for s in found.servers:
        ports = ", ".join(f"{name} {port}" for name, port in s.ports.items())
        runs = [str(s.pid), f"{s.memory / 2**20:,.0f} MiB", _span(s.uptime)] if s.pid else ["", "", ""]
        servers.append([s.name, s.state, *runs, ports])
    tables = [["table", "tablets", "served", "entries", "in memory"]]
    for t in found.tables:
        numbers = (t.tablets, t.served, t.entries, t.in_memory)
        tables.append([t.name if t.online else f"{t.name} (offline)", *(f"{n:,}" for n in numbers)])
    out = [f"stack in {found.home}", ""]
    for grid in (servers, tables):
        if len(grid) > 1:
            out += [*_aligned(grid), ""]
    if found.lag is not None:
        out.append(f"queue: {found.lag:,} work item{'s' if found.lag != 1 else ''} waiting")
    return out + [f"problem: {problem}" for problem in found.problems]


def _aligned(grid: list[list[str]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*grid, strict=True)]
    return ["  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)).rstrip() for row in grid]


def _span(seconds: float) -> str:
    minutes, seconds = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}h{minutes:02}m" if hours else f"{minutes}m{seconds:02}s"
