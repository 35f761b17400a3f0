"""The questions, each in the language of stats and in the SQL of each other engine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from watchfloor.loadgen.generator.synthesis.network_model import load_network

LIST = "bench_addresses"
"""The named list of addresses, of which the SQL engines have a table ``listed``."""
LISTED = 200_000
"""Addresses of the list."""
BOUNDED_EVENTS = 1000
"""Events of a group from which on the rank of a quantile is bounded; in smaller ones it lies among the values."""

_PRESENT = 100
_SHARE = 0.95
_WORDS = {
    "duckdb": {
        "matches": "regexp_matches",
        "epoch": "epoch",
        "ports": "count(DISTINCT {})",
        "users": "count(DISTINCT {})",
        "listed": "(SELECT address FROM listed)",
    },
    # chDB's tables have no nulls: an event without a user has an empty one.
    "chdb": {
        "matches": "match",
        "epoch": "toUnixTimestamp",
        "ports": "uniqExact({})",
        "users": "uniqExactIf({0}, {0} != '')",
        "listed": "listed",
    },
}
_QUANTILES = {"duckdb": "approx_quantile({field}, {share})", "chdb": "quantile({share})({field})"}
_EXACT_QUANTILES = {"duckdb": "quantile_disc({field}, {share})", "chdb": "quantileExactLow({share})({field})"}


class AnswerKind(Enum):
    """The way in which the answers of engines are compared."""

    EXACT = "exact"
    DISTINCT = "distinct"  # the last column is a number of distinct values, which ours estimates if there are many
    QUANTILE = "quantile"  # the last column is a quantile, which all engines estimate
    VALUES = "values"  # the values alone, in their order: of groups with equal values a limit keeps any


@dataclass(frozen=True)
class StatsQuestion:
    """An aggregation of all events of a feed that ``where`` matches.

    ``sql`` is by engine. The first ``keys`` columns of an answer name the group. ``in_order`` says that the order of
    rows is part of the answer, and ``from_counts`` that ours comes from counts alone. ``bounds`` is SQL, by engine, for
    the least and the greatest value that a quantile of each group may have.
    """

    name: str
    feed: str
    where: str | None
    stats: str
    sql: Mapping[str, str]
    keys: int = 1
    kind: AnswerKind = AnswerKind.EXACT
    in_order: bool = False
    from_counts: bool = False
    bounds: Mapping[str, str] | None = None


def list_questions(rank_error: float) -> list[StatsQuestion]:
    """Returns all questions; ``rank_error`` is the error of a quantile's rank that is allowed, as a share."""
    return [
        *_list_counts(),
        *_list_proxy_scans(),
        *_list_large_questions(),
        *_list_quantiles(rank_error),
        *_list_auth(),
        *_list_netflow(),
    ]


def list_addresses() -> Sequence[str]:
    """Returns the ``LISTED`` addresses of the list: a few are clients, and no event has the others."""
    clients = load_network().clients
    present = clients[:: len(clients) // _PRESENT][:_PRESENT]
    return [*present, *(f"11.{i >> 16}.{i >> 8 & 255}.{i & 255}" for i in range(LISTED - _PRESENT))]


def _list_counts() -> list[StatsQuestion]:
    feed = "proxy.events"
    return [
        StatsQuestion(
            "count of everything", feed, None, "count()", _write_sql("SELECT count(*) FROM events"), 0, from_counts=True
        ),
        StatsQuestion(
            "top domains",
            feed,
            None,
            "top 10 domain",
            _write_sql("SELECT domain, count(*) AS n FROM events GROUP BY domain ORDER BY n DESC, domain LIMIT 10"),
            in_order=True,
        ),
        StatsQuestion(
            "top statuses",
            feed,
            None,
            "top 10 status",
            _write_sql("SELECT status, count(*) AS n FROM events GROUP BY status ORDER BY n DESC, status LIMIT 10"),
            in_order=True,
            from_counts=True,
        ),
    ]


def _list_proxy_scans() -> list[StatsQuestion]:
    feed = "proxy.events"
    pattern = "^/b[a-z]+/[a-z]+[.](zip|mp4|svg)$"
    hour = "{epoch}(date_trunc('hour', ts))"
    by_hour = "GROUP BY date_trunc('hour', ts) ORDER BY date_trunc('hour', ts)"
    return [
        StatsQuestion(
            "errors by domain",
            feed,
            "status >= 500",
            "count() by domain",
            _write_sql("SELECT domain, count(*) FROM events WHERE status >= 500 GROUP BY domain"),
        ),
        StatsQuestion(
            "bytes by source",
            feed,
            None,
            "sum(bytes_out) by src_ip",
            _write_sql("SELECT src_ip, sum(bytes_out) FROM events GROUP BY src_ip"),
        ),
        StatsQuestion(
            "timeline of a pattern",
            feed,
            f'path ~ "{pattern}"',
            "timeline 1h",
            _write_sql(f"SELECT {hour}, count(*) FROM events WHERE {{matches}}(path, '{pattern}') {by_hour}"),
            in_order=True,
        ),
        StatsQuestion(
            "users by domain",
            feed,
            None,
            "distinct(user) by domain",
            _write_sql("SELECT domain, {users} FROM events GROUP BY domain", '"user"'),
            kind=AnswerKind.DISTINCT,
        ),
        StatsQuestion(
            "agents of a network",
            feed,
            "src_ip in 10.3.0.0/16",
            "top 10 user_agent",
            _write_sql(
                "SELECT user_agent, count(*) AS n FROM events WHERE src_ip LIKE '10.3.%' GROUP BY user_agent "
                "ORDER BY n DESC, user_agent LIMIT 10"
            ),
            in_order=True,
        ),
    ]


def _list_large_questions() -> list[StatsQuestion]:
    """Returns one question with about 100,000 groups in 10,000,000 events, and one with the list."""
    feed = "proxy.events"
    return [
        StatsQuestion(
            "many groups",
            feed,
            None,
            "count() by path, status",
            _write_sql("SELECT path, status, count(*) FROM events GROUP BY path, status"),
            keys=2,
        ),
        StatsQuestion(
            "many addresses",
            feed,
            f"src_ip in @{LIST}",
            "count() by src_ip",
            _write_sql("SELECT src_ip, count(*) FROM events WHERE src_ip IN {listed} GROUP BY src_ip"),
        ),
    ]


def _list_quantiles(rank_error: float) -> list[StatsQuestion]:
    """Returns the 95th percentile of a field of about a thousand values, and of one of tens of thousands."""
    return [
        StatsQuestion(
            f"p95 of {what} by category",
            "proxy.events",
            None,
            f"p95({field}) by category",
            {
                engine: f"SELECT category, {text.format(field=field, share=_SHARE)} FROM events GROUP BY category"
                for engine, text in _QUANTILES.items()
            },
            kind=AnswerKind.QUANTILE,
            bounds={engine: _write_bounds(engine, field, rank_error) for engine in _EXACT_QUANTILES},
        )
        for what, field in (("duration", "duration_ms"), ("bytes", "bytes_out"))
    ]


def _write_bounds(engine: str, field: str, rank_error: float) -> str:
    """Returns SQL for the exact quantiles below and above; of groups with few events, for the extremes."""
    low, high = (
        _EXACT_QUANTILES[engine].format(field=field, share=round(_SHARE + error, 4))
        for error in (-rank_error, rank_error)
    )
    few = f"count(*) < {BOUNDED_EVENTS}"
    return (
        f"SELECT category, CASE WHEN {few} THEN min({field}) ELSE {low} END, "
        f"CASE WHEN {few} THEN max({field}) ELSE {high} END FROM events GROUP BY category"
    )


def _list_auth() -> list[StatsQuestion]:
    return [
        StatsQuestion(
            "hosts with failed logons",
            "auth.events",
            'result = "failure"',
            "count() by host | having count > 50",
            _write_sql("SELECT host, count(*) FROM events WHERE result = 'failure' GROUP BY host HAVING count(*) > 50"),
        ),
    ]


def _list_netflow() -> list[StatsQuestion]:
    feed = "netflow.events"
    return [
        # Stats sort groups, so the longest flows are asked by pairs of hosts. Without the filter there would be more
        # pairs than the 1,000,000 groups that an answer may have.
        StatsQuestion(
            "longest connections",
            feed,
            "duration_ms >= 30000",
            "max(duration_ms), sum(bytes_out) by src_ip, dst_ip | sort -max_duration_ms, -sum_bytes_out | limit 10",
            _write_sql(
                "SELECT src_ip, dst_ip, max(duration_ms) AS longest, sum(bytes_out) AS sent FROM events "
                "WHERE duration_ms >= 30000 GROUP BY src_ip, dst_ip ORDER BY longest DESC, sent DESC LIMIT 10"
            ),
            keys=2,
            kind=AnswerKind.VALUES,
            in_order=True,
        ),
        StatsQuestion(
            "ports by host",
            feed,
            None,
            "distinct(dst_port) by src_ip",
            _write_sql("SELECT src_ip, {ports} FROM events GROUP BY src_ip", "dst_port"),
            kind=AnswerKind.DISTINCT,
        ),
        StatsQuestion(
            "client ports by server",
            feed,
            None,
            "distinct(src_port) by dst_ip",
            _write_sql("SELECT dst_ip, {ports} FROM events GROUP BY dst_ip", "src_port"),
            kind=AnswerKind.DISTINCT,
        ),
    ]


def _write_sql(text: str, field: str = "") -> dict[str, str]:
    """Returns a statement in the words of each engine; ``field`` is the one of which distinct values are counted."""
    return {
        engine: text.format(**{name: word.format(field) for name, word in words.items()})
        for engine, words in _WORDS.items()
    }
