"""The questions: a kind of filter each, in our filter language and in that of each other engine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from watchfloor.loadgen.engines.peers.peer_process import SQL_PEERS
from watchfloor.loadgen.engines.question import MANY_ROWS, EngineQuestion, QuestionKind
from watchfloor.loadgen.generator.generate import GenerationSummary

PAGE_PEERS = (*SQL_PEERS, "victorialogs")
"""The engines that are asked: all whose language can say each question."""
PAGE_ROWS = 100
"""The rows of a page."""
EVERYTHING = "middling, everything"
THOUSAND = "middling, newest 1000"
_MATCHES = {"duckdb": "regexp_matches", "chdb": "match"}
"""The SQL function of each engine that searches a string for a regular expression."""


@dataclass(frozen=True)
class PageQuestion:
    """The newest ``limit`` events that a filter matches, or all of them, with all columns.

    ``where`` is the filter in our language, None for all events; ``conditions`` has it in the language of each other
    engine.
    """

    name: str
    where: str | None
    conditions: Mapping[str, str]
    limit: int | None = PAGE_ROWS

    @property
    def is_page(self) -> bool:
        return self.limit == PAGE_ROWS

    def ask_ours(self) -> EngineQuestion:
        """Returns the question with the filter in our language."""
        return EngineQuestion(self.name, QuestionKind.NEWEST, limit=self.limit, condition=self.where)

    def ask_peer(self, engine: str) -> EngineQuestion:
        """Returns the question with the filter in the language of another engine."""
        return EngineQuestion(self.name, QuestionKind.NEWEST, limit=self.limit, condition=self.conditions[engine])


def list_questions(generated: GenerationSummary) -> Sequence[PageQuestion]:
    """Returns the questions about generated proxy events: with index, counts or neither, with many hits or none."""
    middling = generated.middling.value
    return [
        _ask_domain("no hit", "nothing.absent.example"),
        _ask_domain("rare", generated.rare.value),
        _ask_domain("dense", generated.popular.value),
        _ask_domain("middling", middling),
        _ask_domain(THOUSAND, middling, MANY_ROWS),
        _ask_domain(EVERYTHING, middling, None),
        _ask(
            "part of a text and number",
            'user_agent contains "updater/" and bytes_out > 300000',
            "user_agent LIKE '%updater/%' AND bytes_out > 300000",
            'user_agent:*"updater/"* bytes_out:>300000',
        ),
        _ask(
            "not, and equal",
            "not action = allowed and method = POST",
            "NOT action = 'allowed' AND method = 'POST'",
            "!action:=allowed method:=POST",
        ),
        _ask(
            "pattern",
            r"path ~ /\/s[a-z]+\.zip$/",
            "{matches}(path, '/s[a-z]+[.]zip$')",
            'path:~"/s[a-z]+[.]zip$"',
        ),
        _ask("no filter", None, "true", "*"),
        _ask(
            "two indexed",
            "status = 404 and category = phishing",
            "status = 404 AND category = 'phishing'",
            "status:=404 category:=phishing",
        ),
        _ask("number", "duration_ms > 1000", "duration_ms > 1000", "duration_ms:>1000"),
        _ask(
            "network",
            "src_ip in 10.6.226.0/24",
            "src_ip LIKE '10.6.226.%'",
            'src_ip:ipv4_range("10.6.226.0/24")',
        ),
    ]


def _ask_domain(name: str, domain: str, limit: int | None = PAGE_ROWS) -> PageQuestion:
    return _ask(name, f'domain = "{domain}"', f"domain = '{domain}'", f'domain:="{domain}"', limit)


def _ask(name: str, where: str | None, sql: str, logsql: str, limit: int | None = PAGE_ROWS) -> PageQuestion:
    """``matches`` in braces stands for the SQL function that searches for a regular expression."""
    conditions = {engine: sql.replace("{matches}", function) for engine, function in _MATCHES.items()}
    return PageQuestion(name, where, {**conditions, "victorialogs": logsql}, limit)
