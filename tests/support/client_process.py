"""A client of a stack in a process of its own: its JVM ends with it, and does not mourn a stack that is stopped."""

from __future__ import annotations

import subprocess
import sys

from watchfloor.schema.settings.settings import Settings

WRITE = """
with Store.open(settings) as store:
    store.put("watchfloor.items", [(b"row%d" % n, b"", b"q", b"v%d" % n) for n in range(1000)])
"""
READ = """
with Store.open(settings) as store:
    every = Ranges()
    every.add_rows(b"", None)
    print(sum(len(batch) for batch in store.scan(EntryScan("watchfloor.items", every))))
"""
QUEUE = """
with ItemProducer(settings): pass
print(queue_lag(settings))
"""


def run_client(settings: Settings, code: str) -> str:
    """Returns what ``code`` prints, which has ``settings`` of the stack."""
    head = (
        "from watchfloor.schema.settings.load import load_settings\n"
        "from watchfloor.store.bridge.requests import EntryScan\n"
        "from watchfloor.store.store import Store\n"
        "from watchfloor.store.encoding.ranges import Ranges\n"
        "from watchfloor.ingest.queue.work_queue import ItemProducer, queue_lag\n"
        f"settings = load_settings({str(settings.home)!r}, {{'topic': 't'}})\n"
    )
    done = subprocess.run([sys.executable, "-c", head + code], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()
