"""The questions of ``bench page`` mean the same in each language; its client times answers and refuses broken ones.

In `make test`: it needs no servers.
"""

from __future__ import annotations

import json
import re
import time
from argparse import Namespace
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from types import SimpleNamespace
from typing import Any, ClassVar, cast

import pyarrow as pa
import pytest
from engine_events import COLUMNS, PROXY

from watchfloor.loadgen.engines.answer import digest_rows
from watchfloor.loadgen.engines.peers.peer_process import explain_missing, open_peers
from watchfloor.loadgen.engines.question import EngineQuestion, QuestionKind
from watchfloor.loadgen.engines.rounds import AnswerProfile, AnswerSamples
from watchfloor.loadgen.experiments.page.asking import LoopResult, PageClient, PageLoop
from watchfloor.loadgen.experiments.page.figures import FIRST, FRESH, GROWTH, PageSamples, make_figures, make_growth
from watchfloor.loadgen.experiments.page.questions import EVERYTHING, PAGE_PEERS, THOUSAND, PageQuestion, list_questions
from watchfloor.loadgen.experiments.page.run import run
from watchfloor.loadgen.harness.background import RestAddress
from watchfloor.loadgen.harness.loads import EventFile
from watchfloor.loadgen.harness.session import BenchSession
from watchfloor.loadgen.suite import bench
from watchfloor.schema.errors import StackError, UserError

Event = Mapping[str, Any]
LINE = json.dumps({"ts": "2026-01-01T00:00:00.000001Z", "domain": "a.example"}).encode() + b"\n"
END = b'{"summary":{"status":"limit"}}\n'
PAUSE = 0.05


def match_events(file: EventFile) -> Mapping[str, Callable[[Event], bool]]:
    """Returns what each question asks for, in Python."""
    summary = file.generated
    return {
        "no hit": lambda event: False,
        "rare": lambda event: event["domain"] == summary.rare.value,
        "dense": lambda event: event["domain"] == summary.popular.value,
        **dict.fromkeys(("middling", THOUSAND, EVERYTHING), lambda event: event["domain"] == summary.middling.value),
        "part of a text and number": lambda e: "updater/" in e["user_agent"] and e["bytes_out"] > 300_000,
        "not, and equal": lambda event: event["action"] != "allowed" and event["method"] == "POST",
        "pattern": lambda event: re.search(r"/s[a-z]+\.zip$", event["path"]) is not None,
        "no filter": lambda event: True,
        "two indexed": lambda event: event["status"] == 404 and event["category"] == "phishing",
        "number": lambda event: event["duration_ms"] > 1000,
        "network": lambda event: event["src_ip"].startswith("10.6.226."),
    }


@pytest.mark.parametrize("name", PAGE_PEERS)
def test_the_questions_mean_the_same_to_an_engine_as_in_python(name: str, file: EventFile, events: pa.Table) -> None:
    if remedy := explain_missing(name):
        pytest.skip(f"{name}: {remedy}")
    rows, matches = events.to_pylist(), match_events(file)
    with open_peers([name]) as ((peer,), _):
        peer.load_file(file.path)
        for question in list_questions(file.generated):
            wanted = [number for number, row in enumerate(rows) if matches[question.name](row)][: question.limit]
            answer = peer.ask_question(question.ask_peer(name), True)
            assert (answer.rows, answer.digest) == (
                len(wanted),
                digest_rows(events.take(pa.array(wanted, pa.int64())), COLUMNS),
            ), question
            assert answer.in_order and bool(wanted) == (question.name != "no hit")


class Service(BaseHTTPRequestHandler):
    """Answers each question with ``answer``, with a pause before each part after the first."""

    protocol_version = "HTTP/1.1"
    answer: ClassVar[tuple[bytes, ...]] = ()
    asked: ClassVar[list[dict[str, Any]]] = []

    def do_POST(self) -> None:
        self.asked.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for number, part in enumerate(self.answer):
            time.sleep(PAUSE if number else 0)
            self.wfile.write(b"%x\r\n%b\r\n" % (len(part), part))
        self.wfile.write(b"0\r\n\r\n")

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def service() -> Iterator[RestAddress]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Service)
    Service.asked.clear()
    thread = Thread(target=server.serve_forever)
    thread.start()
    yield RestAddress("127.0.0.1", server.server_port, "token", 1)
    server.shutdown()
    thread.join()
    server.server_close()


def test_the_client_times_the_first_line_and_the_end(service: RestAddress, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Service, "answer", (LINE, LINE, END))
    question = EngineQuestion("q", QuestionKind.NEWEST, limit=2, condition="a = b")
    with closing(PageClient(service, PROXY)) as client:
        plain, checked = client.ask_question(question, False), client.ask_question(question, True)
    assert Service.asked == [{"source": "proxy.events", "where": "a = b", "limit": 2}] * 2
    assert plain.rows == checked.rows == 2 and checked.digest and checked.in_order and not plain.digest
    for answer in (plain, checked):
        assert 0 < answer.first_seconds <= answer.seconds - PAUSE


@pytest.mark.parametrize(
    "answer", [(LINE,), (LINE, b'{"summary":{"status":"failed"}}\n'), (b'{"summary":{"status":"deadline"}}\n',)]
)
def test_an_answer_that_is_not_whole_is_an_error(
    answer: tuple[bytes, ...], service: RestAddress, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Service, "answer", answer)
    with closing(PageClient(service, PROXY)) as client, pytest.raises(StackError, match=r"^q: the"):
        client.ask_question(EngineQuestion("q", QuestionKind.NEWEST), False)
    loop = PageLoop(service, PROXY, [EngineQuestion("q", QuestionKind.NEWEST)], clients=2, processes={})
    with pytest.raises(StackError, match="the REST service answered"):
        loop.run(1, 1)


def test_a_refusal_ends_the_loop(service: RestAddress, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Service, "do_POST", lambda self: self.send_error(429))
    loop = PageLoop(service, PROXY, [EngineQuestion("q", QuestionKind.NEWEST)], clients=2, processes={})
    with pytest.raises(StackError, match=r"the REST service answered .*429"):
        loop.run(1, 1)


def test_many_clients_draw_from_all_questions(service: RestAddress, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Service, "answer", (END,))
    questions = [EngineQuestion("q", QuestionKind.NEWEST, condition=f"a = {number}") for number in range(3)]
    result = PageLoop(service, PROXY, questions, clients=4, processes={"gone": [], "service": [0]}).run(0.5, 1)
    assert {asked["where"] for asked in Service.asked} == {"a = 0", "a = 1", "a = 2"}
    assert result.rate > 0 and result.cpu_seconds == {"gone": 0, "service": 0}


def test_first_pages_are_compared_with_the_same_pages_when_warm() -> None:
    questions = [PageQuestion("a", "a = b", {}), PageQuestion("b", None, {})]
    warm = {("watchfloor", 5_000_000, name): AnswerSamples([0.01, 0.02, 0.03], [0.004] * 3) for name in "ab"}
    samples = PageSamples(5_000_000, "stack and service", 16, warm)
    samples.fresh = [[("a", 0.06), ("b", 0.02)], [("b", 0.02), ("a", 0.1)], [("a", 0.04), ("b", 0.04)]]
    samples.loops = [LoopResult(65.0, {"service": 0.01})]
    samples.profiles = {"watchfloor": {"a": AnswerProfile(0.01, {"service": 0.002})}}
    figures = make_figures(samples, questions)
    whole, first, second = (figure for figure in figures if figure.metric == FRESH)
    assert whole.samples == pytest.approx((2, 3, 2)) and whole.value == pytest.approx(2) and whole.meets_goal
    assert first.samples == pytest.approx((3, 1, 2)) and second.samples == pytest.approx((1, 5, 2))
    assert all(figure.meets_goal for figure in figures if figure.metric == FIRST)
    assert all(figure.labels["events"] == "5,000,000" for figure in figures)


def test_growth_is_of_first_rows_turn_by_turn() -> None:
    answers = {("watchfloor", n, "a"): AnswerSamples([9.0, 9.0], [n / 1e6, n / 5e5]) for n in (5_000_000, 10_000_000)}
    (figure,) = make_growth(answers, 5_000_000, 10_000_000, [PageQuestion("a", None, {})])
    assert figure.metric == GROWTH and figure.samples == (2, 2) and figure.meets_goal is False


def test_bad_options_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        bench.main(["page", "--events", "1000,many"])
    assert "--events: '1000,many' is not a list of whole numbers" in capsys.readouterr().err


def test_too_few_events_are_refused() -> None:
    with pytest.raises(UserError, match="--events is 10"):
        run(cast("BenchSession", SimpleNamespace()), Namespace(events=(5000, 10)))
