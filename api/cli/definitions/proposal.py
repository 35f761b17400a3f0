"""``watchfloor sources infer``: proposes a definition that reads a file. It needs no store."""

from __future__ import annotations

import json
from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from watchfloor.api.cli.terminal.context import print_message, read_settings

from .files import open_named_log
from .trial import print_outcome

if TYPE_CHECKING:
    from watchfloor.ingest.files.open_file import OpenLog


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE")
    parser.add_argument("--name", metavar="NAME", help="of the source (default: logs. and the file's name)")
    parser.set_defaults(run=infer_definition)


def infer_definition(args: Namespace) -> None:
    """Prints a definition on standard output; on standard error why fields are indexed, and what it makes of the file.

    Raises ``UserError`` if a source that ships reads the file already.
    """
    from watchfloor.ingest.authoring.proposal import SAMPLE_LINES, propose_definition
    from watchfloor.ingest.authoring.trial import try_source
    from watchfloor.ingest.formats.registry import check_format
    from watchfloor.schema.definition import parse_definition
    from watchfloor.store.bridge.jvm import start_jvm

    with open_named_log(args.file) as file:
        _refuse_known(file)
        proposal = propose_definition(file, args.name)
        source = check_format(parse_definition(proposal.definition))
        print(json.dumps(proposal.definition, indent=2, ensure_ascii=False))
        for each in proposal.fields:
            indexed = "not indexed" if each.advice.rank is None else "indexed"
            print_message(f"{each.field.name}: {each.field.type_name}, {indexed}: {each.advice.reason}")
        for remark in proposal.remarks:
            print_message(remark)
        start_jvm(read_settings(args).jars)
        print_outcome(try_source(source, file, SAMPLE_LINES))


def _refuse_known(file: OpenLog) -> None:
    from watchfloor.ingest.files.open_file import name_log
    from watchfloor.ingest.intake.sniff import sniff_file
    from watchfloor.schema.errors import InputFileError, UserError
    from watchfloor.schema.files.paths import show_path
    from watchfloor.schema.text import join_words

    try:
        sources = sniff_file(file, None, {}).sources
    except InputFileError:
        return
    names = [s.name for s in sources if s.name != "syslog.messages" and not s.parser.get("fallback", False)]
    if names:
        raise UserError(
            f"{show_path(name_log(file))}: is read as it is, by {join_words(names[:5])}; `watchfloor load` takes it"
        )
