"""``watchfloor sigma``: Sigma rules as filters over the sources that they mean."""

from __future__ import annotations

import re
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from watchfloor.api.cli.terminal.command_group import OK, PARTLY, AddCommand
from watchfloor.api.cli.terminal.context import open_service, open_store, print_message, read_settings
from watchfloor.api.cli.terminal.rows import add_format, add_range, default_format, print_rows

if TYPE_CHECKING:
    from watchfloor.query.service import QueryService
    from watchfloor.schema.filter.sigma.convert import ConvertedRule, SourceFilter
    from watchfloor.schema.filter.sigma.correlations.model import Correlation
    from watchfloor.schema.filter.sigma.correlations.rule_set import RuleSet
    from watchfloor.schema.filter.sigma.rule_file import RuleInfo
    from watchfloor.schema.source import Source

POSITION = 65
CHECK_COLUMNS = ("file", "title", "id", "level", "converted", "sources", "reason")


def register(add: AddCommand) -> None:
    parser = add(
        "sigma",
        lambda args: parser.error("name an action: check, explain, run, hunt or watch"),
        "Sigma rules as filters",
    )
    actions = parser.add_subparsers(metavar="[check | explain | run | hunt | watch] RULES…")
    check = actions.add_parser("check", help="which rules can be run, over which sources", allow_abbrev=False)
    _add_rules(check)
    _add_store(check)
    check.add_argument("--failed", action="store_true", help="print only the rules that cannot be run")
    add_format(check)
    check.set_defaults(run=check_rules)
    explain = actions.add_parser("explain", help="a rule's filter for each source, as text", allow_abbrev=False)
    _add_rules(explain)
    _add_store(explain)
    explain.add_argument("--plan", action="store_true", help="how the store would answer it, too")
    add_range(explain)
    explain.set_defaults(run=explain_rules)
    run = actions.add_parser("run", help="the events that match rules, newest first", allow_abbrev=False)
    _add_hunt(run, "no more than N matches of a rule (default: all)")
    add_format(run)
    run.add_argument("--output", metavar="FILE", help="write to FILE instead of standard output")
    run.set_defaults(run=run_rules)
    hunt = actions.add_parser("hunt", help="how many events match each rule, and a report", allow_abbrev=False)
    _add_hunt(hunt, "no more than N matches of a rule in the report and in --matches (default 100; 0: all)")
    hunt.add_argument("--cost", action="store_true", help="print what the hunt would cost, and run nothing")
    hunt.add_argument("--report", metavar="FILE", help="write a report in HTML")
    hunt.add_argument("--matches", metavar="FILE", help="write the matches as NDJSON")
    add_format(hunt)
    hunt.set_defaults(run=hunt_rules)
    watch = actions.add_parser("watch", help="alerts as events arrive, until stopped", allow_abbrev=False)
    _add_rules(watch)
    watch.add_argument("--since", metavar="TIME", help="at the first start, take events from TIME on for new ones")
    watch.add_argument("--webhook", metavar="URL", help="post each alert to URL as JSON")
    watch.add_argument("--name", type=_read_name, default="default", help="the name of this watch (default: default)")
    watch.set_defaults(run=watch_rules)


def _add_rules(parser: ArgumentParser) -> None:
    parser.add_argument("rules", metavar="RULES", nargs="+", help="files of rules, or folders of them")


def _add_store(parser: ArgumentParser) -> None:
    parser.add_argument("--store", action="store_true", help="the sources of the store, not those that ship")


def _add_hunt(parser: ArgumentParser, limit: str) -> None:
    _add_rules(parser)
    add_range(parser)
    parser.add_argument("--limit", metavar="N", type=int, help=limit)
    parser.add_argument(
        "--max-seconds", metavar="S", type=float, help="run nothing that is expected to take longer (default: no bound)"
    )
    parser.add_argument(
        "--rule-seconds",
        metavar="S",
        type=float,
        default=10.0,
        help="name the rules that are expected to add more than S seconds each (default 10)",
    )


def _read_name(text: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9_-]{1,64}", text):
        raise ArgumentTypeError(f"{text!r} is no name of letters, digits, hyphens and underscores")
    return text


def watch_rules(args: Namespace) -> None:
    """Looks for events that match rules as they arrive, until it is stopped."""
    from watchfloor.api.cli.sigma.watching import watch_rules

    watch_rules(args)


def run_rules(args: Namespace) -> int:
    """Prints the events that match rules; the exit status is PARTLY if a rule cannot be run."""
    from watchfloor.api.cli.sigma.hunting import open_hunt, run_hunt
    from watchfloor.api.cli.terminal.output import open_output
    from watchfloor.api.formats.writers import open_writer

    with open_hunt(args, args.limit) as hunt, open_output(args.output) as out:
        writer = open_writer(args.format or default_format(args.output), out, all_columns=True)
        return run_hunt(hunt, (writer,))


def hunt_rules(args: Namespace) -> int:
    """Prints the number of matches of each rule that has some, and writes what the options ask for."""
    from watchfloor.api.cli.sigma.hunting import hunt_with_report

    return hunt_with_report(args)


def check_rules(args: Namespace) -> int:
    """Prints for each rule whether it can be run; the exit status is PARTLY if one cannot."""
    from watchfloor.schema.filter.sigma.correlations.rule_set import convert_rules
    from watchfloor.schema.filter.sigma.rule_file import read_rules

    known = _read_sources(args)
    rows = [_check_rule(info, found) for info, found in convert_rules(read_rules(args.rules), known).outcomes]
    converted = sum(row["converted"] for row in rows)
    print_rows([row for row in rows if not (args.failed and row["converted"])], CHECK_COLUMNS, args.format)
    share = f" ({converted / len(rows):.1%})" if rows else ""
    print_message(f"{converted:,} of {len(rows):,} rules can be run{share}")
    return OK if converted == len(rows) else PARTLY


def explain_rules(args: Namespace) -> int:
    """Prints the filters of rules; the exit status is PARTLY if a rule has none."""
    from watchfloor.schema.filter.sigma.correlations.rule_set import convert_rules
    from watchfloor.schema.filter.sigma.rule_file import read_rules

    known = _read_sources(args)
    rules = convert_rules(read_rules(args.rules), known)
    if args.plan:
        with open_service(args) as service:
            return _print_explanations(rules, args, service)
    return _print_explanations(rules, args, None)


def _print_explanations(rules: RuleSet, args: Namespace, service: QueryService | None) -> int:
    for number, (info, found) in enumerate(rules.outcomes):
        about = ", ".join(filter(None, (info.level, info.id, info.place)))
        print(f"{chr(10) if number else ''}{info.title} ({about})")
        lines = [f"cannot be run: {found}"] if isinstance(found, str) else _list_explanation(found, args, service)
        for line in lines:
            print(f"  {line}")
    return PARTLY if rules.failed else OK


def _list_explanation(
    rule: ConvertedRule | Correlation, args: Namespace, service: QueryService | None
) -> Iterable[str]:
    from watchfloor.api.cli.sigma.rules import describe_correlation
    from watchfloor.schema.filter.sigma.correlations.model import Correlation

    if isinstance(rule, Correlation):
        yield from describe_correlation(rule)
        return
    for one in rule.filters:
        yield one.source.name
        yield f"  {one.text or 'all events'}"
        yield from (f"  note: {note}" for note in one.notes)
        if service is not None:
            yield from (f"  {line}" for line in _explain_plan(one, args, service))
    yield from (f"{name}\n    left out: {reason}" for name, reason in rule.left_out.items())


def _explain_plan(one: SourceFilter, args: Namespace, service: QueryService) -> list[str]:
    from watchfloor.api.requests import read_query_request
    from watchfloor.schema.errors import UserError
    from watchfloor.schema.filter.json_form import to_json

    where = None if one.tree is None else to_json(one.tree)
    request = read_query_request({"source": one.source.name, "where": where, "since": args.since, "until": args.until})
    try:
        return service.explain(request).to_text().splitlines()
    except UserError as error:
        return [f"no plan: {error}"]


def _check_rule(info: RuleInfo, found: ConvertedRule | Correlation | str) -> dict[str, Any]:
    """Returns the row of a rule: its sources, or the reason why it has none."""
    from watchfloor.api.cli.sigma.rules import list_sources

    row = {"file": info.place, "title": info.title, "id": info.id, "level": info.level}
    if isinstance(found, str):
        return {**row, "converted": False, "reason": found}
    return {**row, "converted": True, "sources": list_sources(found)}


def _read_sources(args: Namespace) -> Mapping[str, Source]:
    """Returns the sources that rules are converted for."""
    from watchfloor.schema.definition import builtin_definitions

    if not args.store:
        return builtin_definitions()
    with open_store(read_settings(args)) as store:
        known: Mapping[str, Source] = store.catalog.read_sources()
    return known
