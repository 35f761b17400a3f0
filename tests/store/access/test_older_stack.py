"""A stack that an older version has set up, and whose servers still run, gets its accounts from `up`; its data stay.

In `make soak`: it starts a stack of its own twice.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator

import pytest
from own_stack import stack_folder

from watchfloor.schema.settings.settings import Settings
from watchfloor.store.stack.home.home_folder import close_home
from watchfloor.store.stack.stack import read_status, start_stack

pytestmark = [pytest.mark.stack, pytest.mark.soak]
WRITE = 'store.put("watchfloor.items", [(b"row", b"", b"q", b"v")])'
READ = """
every = Ranges()
every.add_rows(b"", None)
print(sum(len(batch) for batch in store.scan(EntryScan("watchfloor.items", every))))
"""


@pytest.fixture
def settings() -> Iterator[Settings]:
    with stack_folder() as settings:
        yield settings


def ask(settings: Settings, code: str) -> str:
    """Returns what ``code`` prints in a process of its own, whose JVM ends with it."""
    head = (
        "from watchfloor.schema.settings.load import load_settings\n"
        "from watchfloor.store.bridge.requests import EntryScan\n"
        "from watchfloor.store.encoding.ranges import Ranges\n"
        "from watchfloor.store.store import Store\n"
        f"store = Store.open(load_settings({str(settings.home)!r})).__enter__()\n"
    )
    done = subprocess.run([sys.executable, "-c", head + code], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_a_stack_without_accounts_gets_them_and_keeps_its_data(settings: Settings) -> None:
    start_stack(settings)
    ask(settings, WRITE)
    state_file = settings.conf_folder / "stack.json"
    old = json.loads(state_file.read_text())
    del old["accounts"]
    state_file.write_text(json.dumps(old))
    for path in (settings.home, settings.home / "data", state_file):
        path.chmod(0o755)
    pids = {server.pid for server in read_status(settings).servers}
    lines: list[str] = []
    start_stack(settings, report=lines.append)
    assert any("servers let every user of the machine in: they are replaced" in line for line in lines)
    assert any("other users could open" in line for line in lines)
    assert (settings.home / "data/kafka-without-accounts/meta.properties").exists()
    found = read_status(settings)
    assert not found.problems
    assert not pids & {server.pid for server in found.servers if server.name != "supervisor"}
    assert ask(settings, READ) == "1"
    assert close_home(settings) == 0
    assert json.loads(state_file.read_text())["accounts"]
