"""The test bed: a cluster at work, files of known lines that are loaded during a fault, and what must hold of them."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from bed_reader import Contents
from cluster import CLIENT, DATA, WORK, Cluster, wait_until

BASE = "bed.base"
"""The source of which is asked during faults. Nothing is written to it then."""
BASE_LINES = 5_000
SERVICE_PORT = 8742
REQUEST_SECONDS = 10
"""The client's ``general.rpc.timeout``."""
CONNECT_SECONDS = 15
"""The client's ``watchfloor.connect.timeout``."""
SCAN_SECONDS = 60
"""The client's ``watchfloor.scan.timeout``."""
_BAD_LINES = 3
_HOSTS = 5
"""The values of the field ``host``, which events have in turn."""
_SCRIPTS = Path(__file__).parent


@dataclass(frozen=True)
class Answer:
    """One answer of the REST service; ``events`` counts the rows that came, whole or not."""

    began: float
    seconds: float
    events: int
    distinct: int
    end: str
    said: str

    @property
    def is_whole(self) -> bool:
        return self.end == "complete" and self.events == self.distinct == BASE_LINES


@dataclass(frozen=True)
class FaultReport:
    """The seconds of one fault: the longest without a whole answer, and of the whole load."""

    without_answer: float
    load_seconds: float
    longest_answer: float
    failed: int
    whole: int
    started_again: tuple[str, ...]
    """The processes that had ended, by name and host."""


class Bed:
    """A started cluster with workers, the REST service and a source of known events."""

    def __init__(self, folder: Path) -> None:
        self.cluster = Cluster(folder)
        self.network = self.cluster.network
        self.folder = folder
        self._mode = "live"
        self.started: list[tuple[str, str]] = []
        """The hosts and names of the processes that were started again."""

    def start(self) -> None:
        """Raises ``NetworkRefusedError`` where hosts cannot be built."""
        self.cluster.start()
        for host in WORK:
            self.cluster.keep_command(host, "worker", "--workers", "1")
        address = self.network.addresses[WORK[1]]
        self.cluster.keep_command(WORK[1], "serve", "--host", address, "--port", str(SERVICE_PORT))
        self.add_source(BASE)
        self.finish_load(self.start_load(BASE, BASE_LINES))

    def add_source(self, name: str) -> None:
        """Makes a source, with a shard for each tablet server at least."""
        fields = [
            {"name": "ts", "type": "time"},
            {"name": "host", "type": "string", "indexed": True},
            {"name": "id", "type": "int", "indexed": True},
            {"name": "text", "type": "string"},
        ]
        definition = {"name": name, "parser": {"format": "json"}, "timestamp": {"field": "ts"}, "fields": fields}
        file = self.folder / f"{name}.json"
        file.write_text(json.dumps({**definition, "shards": 2 * len(DATA)}))
        self.ask("sources", "add", str(file))

    def ask(self, *arguments: str, seconds: float = 120) -> str:
        """Returns what a command prints on the client's host. Fails if the command does."""
        done = self.cluster.run(CLIENT, self.cluster.command(*arguments), seconds)
        assert done.returncode == 0, f"{arguments}: {done.stderr[-2000:]}"
        return done.stdout

    def start_load(self, source: str, lines: int) -> subprocess.Popen[bytes]:
        """Starts to load a new file of ``lines`` events and a few lines that are none."""
        file = self.folder / f"{source}.log"
        with file.open("w") as out:
            out.writelines(map(format_event, range(lines)))
            out.write('{"ts": no time}\n' * _BAD_LINES)
        options = ("--source", source, "--mode", self._mode)
        return self.cluster.start_command(CLIENT, f"load-{source}", "load", str(file), *options)

    def finish_load(self, load: subprocess.Popen[bytes], seconds: float = 240) -> None:
        """Returns when a load has ended as it must: with its bad lines in quarantine, and nothing failed."""
        self.revive_until(lambda: load.poll() is not None, seconds, "the end of a load")
        assert load.returncode == 1, "a load of a file with bad lines ends with 1"

    def check_exactly_once(self, source: str, lines: int, bad_lines: int = _BAD_LINES) -> None:
        """Every event of every line is there once, in rows and in counts; ledger and quarantine tell the same."""
        found = self.read_contents(source)
        assert sorted(found.ids) == list(range(lines))
        assert (found.count, found.host_count) == (lines, lines // _HOSTS)
        assert found.items and {item["state"] for item in found.items} == {"done"}, found.items
        assert sum(item["events"] for item in found.items) == lines
        assert sum(item["quarantined"] for item in found.items) == len(found.quarantined) == bad_lines

    def read_contents(self, source: str) -> Contents:
        """Returns what the REST service tells of a source. Fails if it fails."""
        reader = [sys.executable, str(_SCRIPTS / "bed_reader.py"), *self._service(), source]
        done = self.cluster.run(CLIENT, reader, 200)
        assert done.returncode == 0, done.stderr[-2000:]
        return Contents(**json.loads(done.stdout))

    def run_fault(
        self, name: str, lines: int, fault: Callable[[], AbstractContextManager[None]], seconds: float
    ) -> FaultReport:
        """Loads a file into a new source, and holds a fault for ``seconds`` in its midst, while questions are asked.

        Every answer was whole or said that it was not, in bounded time; the last one was whole; and the load, which
        was under way when the fault came, is right.
        """
        source = f"bed.{name}"
        first = len(self.started)
        self.add_source(source)
        with self._asking() as answers:
            wait_until(lambda: any(answer.is_whole for answer in answers()), 60, "a first answer")
            load = self.start_load(source, lines)
            began = time.monotonic()
            wait_until(lambda: self._is_under_way(source), 60, "the first item of a load")
            assert load.poll() is None, "the load ended before the fault: it needs more lines"
            with fault():
                struck = time.monotonic()
                time.sleep(seconds)
            self.finish_load(load)
            loaded = time.monotonic()
            self.revive_until(lambda: answers()[-1].is_whole and answers()[-1].began > loaded, 90, "a whole answer")
            seen = [answer for answer in answers() if answer.began + answer.seconds > struck]
        self._check_answers(seen)
        self.check_exactly_once(source, lines)
        whole = [answer for answer in seen if answer.is_whole and answer.began > struck]
        ends = [struck, *(answer.began + answer.seconds for answer in whole)]
        report = FaultReport(
            without_answer=max(after - before for before, after in pairwise(ends)),
            load_seconds=loaded - began,
            longest_answer=max(answer.seconds for answer in seen),
            failed=sum(not answer.is_whole for answer in seen),
            whole=len(whole),
            started_again=tuple(f"{name} on {host}" for host, name in self.started[first:]),
        )
        print(f"{name}: {report}")
        for answer in seen:
            if not answer.is_whole:
                print(
                    f"asked at {answer.began - struck:.1f} s, {answer.end} after {answer.seconds:.1f} s: {answer.said}"
                )
        self.check_logs()
        return report

    def revive(self) -> None:
        """Starts again the servers and workers that have ended, as systemd does on a real host."""
        self.started += self.cluster.start_ended()

    def revive_until(self, true: Callable[[], bool], seconds: float, what: str) -> None:
        """Waits as ``wait_until`` does, and starts again meanwhile what has ended."""

        def is_true() -> bool:
            self.revive()
            return true()

        wait_until(is_true, seconds, what)

    def use_mode(self, mode: str) -> None:
        """Has workers of a mode run, instead of the ones that do, and loads use it."""
        self._mode = mode
        for host in WORK:
            self.cluster.end_command(host, "worker")
            self.cluster.keep_command(host, "worker", "--workers", "1", "--mode", mode)

    @contextmanager
    def without_disk(self, host: str) -> Iterator[None]:
        """Within the block a host is dead, and what its DataNode has stored is gone. Fails if it had stored nothing."""
        with self.network.without_power(host):
            disk = self.cluster.hdfs.disk(host)
            assert any(disk.rglob("blk_*")), f"no blocks on {host}"
            shutil.rmtree(disk)
            yield

    def close(self) -> None:
        self.cluster.close()

    def _is_under_way(self, source: str) -> bool:
        """Returns whether a worker on a host has done a first item of a source's file."""
        logs = [self.cluster.log(host, "worker") for host in WORK]
        return any(f"{source}.log [" in log.read_text(errors="replace") for log in logs)

    def check_logs(self) -> None:
        """Fails if a process of Watchfloor printed a traceback."""
        for log in (self.folder / "log").glob("*.out"):
            assert "Traceback" not in log.read_text(errors="replace"), log.read_text(errors="replace")[-4000:]

    def _check_answers(self, answers: list[Answer]) -> None:
        """Fails if an answer was cut short without saying so, or took longer than the time-outs allow."""
        for answer in answers:
            assert answer.is_whole or (answer.end != "complete" and answer.said), answer
            assert answer.seconds < SCAN_SECONDS + 3 * REQUEST_SECONDS, answer

    @contextmanager
    def _asking(self) -> Iterator[Callable[[], list[Answer]]]:
        """Has questions asked through the REST service; yields a function that returns the answers so far."""
        log = self.cluster.log(CLIENT, "asker")
        log.unlink(missing_ok=True)
        command = [sys.executable, str(_SCRIPTS / "asker.py"), *self._service(), BASE]
        asker = self.cluster.start_process(CLIENT, "asker", command)

        def read() -> list[Answer]:
            lines = log.read_text().splitlines(keepends=True)
            return [Answer(**json.loads(line)) for line in lines if line.startswith("{") and line.endswith("\n")]

        try:
            yield read
        finally:
            asker.kill()
            asker.wait(10)

    def _service(self) -> tuple[str, str]:
        """Returns the REST service's address, and the file with a token."""
        token = self.folder / "hosts" / WORK[1] / "secret" / "rest.token"
        wait_until(token.exists, 60, "the service's token")
        return f"http://{self.network.addresses[WORK[1]]}:{SERVICE_PORT}", str(token)


def format_event(number: int) -> str:
    """Returns the line of a source's event."""
    start = 1_700_000_000
    fields = {"ts": start + 7 * number, "host": f"h{number % _HOSTS}", "id": number, "text": f"{number:07d}" * 6}
    return json.dumps(fields) + "\n"
