"""The JVM's reader of JSON lines takes all usual lines, and gives the same values as the careful reader.

In `make test`: it needs no servers.
"""

from __future__ import annotations

import json
import threading
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from parsing_support import ParsedFile, check_batch, outcome
from value_strategies import count_examples

from watchfloor.ingest.columns.rows import Rows, split_rows, utf8_rows
from watchfloor.ingest.columns.scalars import Unfit
from watchfloor.ingest.files.lines import Chunk
from watchfloor.ingest.formats.json.json_fast import FastJsonReader
from watchfloor.ingest.formats.json.json_lines import JsonParser, JsonRowReader
from watchfloor.ingest.formats.json.json_values import PLAIN, FieldNaming, decode_object, decode_unique, hides_colons
from watchfloor.ingest.parsing.parsed import ParsedChunk
from watchfloor.schema.definition import builtin_definitions, parse_definition
from watchfloor.schema.source import Source

SCALARS = ("string", "int", "float", "bool", "time", "ip", "port")
NAMES = {**{f"{kind[0]}.{kind}": kind for kind in SCALARS}, "s.deep.text": "string", "s.deep.er.text": "string"}
WHEN = {"epoch": "1700000000", "epoch_us": "1700000000000000", "iso8601": '"2024-03-05T08:00:00Z"'}


def wide(time_format: str) -> Source:
    """Returns a source of all types and lists of them, with names of several parts."""
    fields = [{"name": "ts", "type": "time"}, *({"name": name, "type": kind} for name, kind in NAMES.items())]
    fields += [{"name": f"{kind}s", "type": "list", "items": kind} for kind in SCALARS]
    return parse_definition(
        {
            "name": "test.wide",
            "parser": {"format": "json"},
            "timestamp": {"field": "ts", "format": time_format},
            "fields": fields,
        }
    )


SOURCES = {time_format: wide(time_format) for time_format in WHEN}
NAMING = FieldNaming({"other_name": "s.string"}, frozenset({"@passed"}))

digits = st.from_regex(r"-?(0|[1-9][0-9]{0,20})", fullmatch=True)
numbers = st.one_of(
    digits,
    st.integers(0, 70_000).map(str),
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.from_regex(r"-?(0|[1-9][0-9]{0,18})\.[0-9]{1,12}([eE][-+]?[0-9]{1,3})?", fullmatch=True),
    st.decimals(0, 3_000_000_000, places=7).map(str),
    st.sampled_from(
        ["01", "-", "+1", "1.", ".5", "1e", "NaN", "Infinity", "-0", "-0.0", "9223372036854775808", "1e400"]
    ),
)


def escaped(text: str, how: int) -> str:
    if how == 0:
        return json.dumps(text, ensure_ascii=False)
    return json.dumps(text).replace("/", "\\/") if how == 1 else '"' + "".join(f"\\u{u:04X}" for u in units(text)) + '"'


def units(text: str) -> list[int]:
    raw = text.encode("utf-16-be", "surrogatepass")
    return [int.from_bytes(raw[i : i + 2]) for i in range(0, len(raw), 2)]


texts = st.tuples(
    st.one_of(
        st.text(max_size=12),
        st.text(max_size=12),
        st.ip_addresses().map(str),
        st.ip_addresses(v=6).map(lambda a: a.exploded.upper()),
        st.datetimes().map(lambda t: t.isoformat() + "Z"),
        st.from_regex(
            r"(2024|1900|0000|9999)-(02|12)-(01|28|29|30)[T ]([01][0-9]|2[0-5]):[0-6][0-9]:[0-6][0-9]"
            r"([.,][0-9]{1,11})?(Z|[+-][0-2][0-9](:?[0-6][0-9])?)?",
            fullmatch=True,
        ),
        st.sampled_from(
            ["::", "::1", "1::", "1:2::", "0:0:1:0:0:0:0:1", "1:0:0:2:0:0:3:4", "1:0:2:3:4:5:6:7", "::ffff:1.2.3.4"]
        ),
        st.sampled_from(
            ["1::2::3", "1:2:3:4:5:6:7:8:9", "12345::", ":1", "1:", "1:2", "::ffff:102:304", "1.2.3", "256.1.1.1"]
        ),
        st.sampled_from(["01.2.3.4", "1.2.3.4.", "1.2.3.4 ", "\ud800", "\udc00x", "\x00", "\x1f", "é", "\U0001f600"]),
    ),
    st.integers(0, 2),
).map(lambda drawn: escaped(*drawn))
broken_texts = st.sampled_from(
    ['"a', '"\\', '"\\x"', '"\\u12g4"', '"\\ud83d"', '"\\ud83d\\u0041"', '"a\tb"', "'a'", '"\\u00e9"']
)
words = st.sampled_from(["true", "false", "null", "null", "tru", "nul", "True"])
scalars = st.one_of(numbers, texts, texts, words, broken_texts)
blanks = st.sampled_from(["", "", "", "", " ", "\t", "  ", "\r"])


def fitting(kind: str, time_format: str) -> st.SearchStrategy[str]:
    """Draws values that the reader must take at once."""
    match kind:
        case "string":
            return st.text(st.characters(exclude_categories=("Cs",)), max_size=9).flatmap(
                lambda text: st.sampled_from([escaped(text, how) for how in range(3)])
            )
        case "int":
            return st.integers(-(10**18) + 1, 10**18 - 1).map(str)
        case "port":
            return st.integers(0, 65535).map(str)
        case "float":
            return st.floats(allow_nan=False, allow_infinity=False).map(lambda f: repr(f).replace("e+", "e"))
        case "bool":
            return st.sampled_from(["true", "false"])
        case "ip":
            mapped = 0xFFFF << 32, (0xFFFF << 32) + (1 << 32)
            return (
                st.ip_addresses()
                .filter(lambda a: not mapped[0] <= int(a) < mapped[1] or a.version == 4)
                .map(lambda a: f'"{a}"')
            )
    iso = st.datetimes().map(lambda t: f'"{t.isoformat()}Z"')
    if time_format == "iso8601":
        return iso
    number = st.one_of(st.decimals(0, 4_000_000_000, places=9).map("{:f}".format), st.integers(-5, 10**10).map(str))
    return st.one_of(iso, number, number.map('"{}"'.format))


@st.composite
def objects(draw: st.DrawFn, members: list[tuple[str, str]]) -> str:
    """Draws an object of members. Each name is one key or several nested ones, and some come twice."""
    out: list[str] = []
    for name, value in members:
        parts = name.split(".")
        if len(parts) > 1 and draw(st.booleans()):
            cut = draw(st.integers(1, len(parts) - 1))
            inner = draw(objects([(".".join(parts[cut:]), value)]))
            name, value = ".".join(parts[:cut]), inner
        b = [draw(blanks) for _ in range(4)]
        out.append(f"{b[0]}{json.dumps(name)}{b[1]}:{b[2]}{value}{b[3]}")
    return "{" + (",".join(out) or draw(blanks)) + "}"


@st.composite
def lists(draw: st.DrawFn, elements: st.SearchStrategy[str]) -> str:
    return "[" + ",".join(draw(blanks) + e + draw(blanks) for e in draw(st.lists(elements, max_size=3))) + "]"


@st.composite
def any_line(draw: st.DrawFn, time_format: str) -> str:
    """Draws an object of which most members fit; now and then a byte is missing, added, or another."""
    fields = SOURCES[time_format].fields[1:]
    members = [("ts", draw(st.one_of(st.just(WHEN[time_format]), fitting("time", time_format), scalars)))]
    for field in draw(st.lists(st.sampled_from(fields), max_size=5)):
        value = draw(st.one_of(fitting(field.scalar.value, time_format), st.just("null"), scalars))
        if field.is_list:
            good = st.one_of(fitting(field.scalar.value, time_format), st.just("null"))
            value = draw(st.one_of(lists(good), lists(scalars), st.just(value)))
        members.append((field.name, value))
    more = st.tuples(st.sampled_from(["other_name", "@passed", "@passed", "unknown", "s", "s.deep", ""]), scalars)
    members += draw(st.lists(more, max_size=1))
    line = draw(blanks) + draw(objects(draw(st.permutations(members)))) + draw(blanks)
    if draw(st.integers(0, 3)) == 0 and line:
        place, byte = draw(st.integers(0, len(line) - 1)), draw(st.sampled_from('{}[]",:\\ 0e.-x\x00'))
        line = line[:place] + draw(st.sampled_from(["", byte, byte + line[place]])) + line[place + 1 :]
    return line.replace("\n", " ")


def result(parsed: ParsedChunk) -> list[dict[str, Any]]:
    return outcome(ParsedFile(None, parsed.events, parsed.rejected))


def read_both(time_format: str, rows: Rows, naming: FieldNaming) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    reader = JsonRowReader(SOURCES[time_format], naming)
    found = []
    for read in (reader.read_rows, reader.read_rows_slowly):
        parsed = ParsedChunk()
        read(rows, parsed)
        for source, batch in parsed.events:
            check_batch(source, batch)
        found.append(result(parsed))
    return found[0], found[1]


@pytest.mark.parametrize("time_format", WHEN)
@given(data=st.data())
@settings(max_examples=count_examples(250))
def test_what_is_taken_means_what_the_careful_reader_says(time_format: str, data: st.DataObject) -> None:
    lines = data.draw(st.lists(any_line(time_format), min_size=1, max_size=5))
    rows, _ = utf8_rows(split_rows(Chunk(0, "\n".join(lines).encode("utf-8", "surrogatepass"))))
    fast, slow = read_both(time_format, rows, data.draw(st.sampled_from([PLAIN, NAMING])))
    assert fast == slow


@st.composite
def usual_line(draw: st.DrawFn, time_format: str) -> str:
    members = [("ts", WHEN[time_format])]
    for field in draw(st.lists(st.sampled_from(SOURCES[time_format].fields[1:]), unique_by=lambda f: f.name)):
        value = st.one_of(fitting(field.scalar.value, time_format), st.just("null"))
        members.append((field.name, draw(lists(value) if field.is_list else value)))
    return "{" + ",".join(f"{json.dumps(name)}:{value}" for name, value in members) + "}"


@pytest.mark.parametrize("time_format", WHEN)
@given(data=st.data())
@settings(max_examples=count_examples(100))
def test_what_is_usual_is_taken(time_format: str, data: st.DataObject) -> None:
    lines = data.draw(st.lists(usual_line(time_format), min_size=1, max_size=5))
    rows = split_rows(Chunk(0, "\n".join(lines).encode()))
    parsed = ParsedChunk()
    assert FastJsonReader(SOURCES[time_format], PLAIN).read(rows, parsed) is None
    fast, slow = read_both(time_format, rows, PLAIN)
    assert fast == slow
    assert parsed.count == len(lines)


@given(st.binary(max_size=40), st.integers(0, 60))
@example(b'"user":"\xed\xa0\x80"', 0)
@settings(max_examples=count_examples(300))
def test_bytes_of_any_kind_are_refused_with_a_reason_or_read(noise: bytes, place: int) -> None:
    """A reader that has met them goes on with the next lines as if it had not."""
    right = b'{"ts":"2024-03-05T08:00:00Z","user":"ann","status":200,"duration_ms":1.5}'
    data = right[:place] + noise + right[place:] + b"\n" + right
    source = builtin_definitions()["proxy.events"]
    parsed = JsonParser(source).parse(Chunk(0, data))
    assert all(reject.reason for reject in parsed.rejected)
    rows, bad = utf8_rows(split_rows(Chunk(0, data)))
    slow = ParsedChunk(rejected=bad)
    JsonRowReader(source).read_rows_slowly(rows, slow)
    assert (parsed.count, len(parsed.rejected)) == (slow.count, len(slow.rejected))
    events = [event for _, batch in parsed.events for event in batch.to_pylist()]
    assert [event["user"] for event in events if event["(offset)"] == len(data) - len(right)] == ["ann"]


def test_a_reader_forgets_the_chunk_before() -> None:
    """Rows, lists and text of a long chunk leave nothing in a short one, nor do odd lines."""
    source = SOURCES["iso8601"]
    when = WHEN["iso8601"]
    long = [
        f'{{"ts":{when},"strings":["a","b"],"s.string":"{"x" * n}","ints":[1,null,{"3" if n % 3 else "odd"}]}}'
        for n in range(200)
    ]
    short = [f'{{"ts":{when}}}', f'{{"ts":{when},"strings":[],"ints":[7]}}']
    full, nulls = ([f'{{"ts":{when},"floats":[{",".join(["1"] * 8 + [end] * 8)}]}}'] for end in ("1", "null"))
    cut_off = [*long[:3], f'{{"ts":{when},"ints":[1,2,3,"odd"]}}']
    reader = JsonRowReader(source)
    for lines in (long, short, long[:5], short, cut_off, *[full, nulls] * 20, short, cut_off[2:], short):
        rows = split_rows(Chunk(0, "\n".join(lines).encode()))
        again, fresh, slow = ParsedChunk(), ParsedChunk(), ParsedChunk()
        reader.read_rows(rows, again)
        JsonRowReader(source).read_rows(rows, fresh)
        reader.read_rows_slowly(rows, slow)
        assert result(again) == result(fresh) == result(slow)


@pytest.mark.parametrize(
    "special", ['\\"', "\\n", "\x00", "\x1f", " ", "!", "#", "[", "]", "\x7f", "é", "\U0001f600", '"', "\\"]
)
def test_strings_end_where_they_end(special: str) -> None:
    """Strings of all lengths, with each character that ends them, or could be mistaken for one that does, at each
    place.

    They are read by words of eight bytes: as values and as keys, the last one up to the end of the data.
    """
    before = '{"ts":"2024-03-05T08:00:00Z","s.string":'
    lines = []
    for length in range(20):
        for place in range(length + 1):
            text = "x" * place + special + "\u0100" * (place % 2) + "x" * (length - place)
            lines += [f'{before}"{text}"}}', f'{before}"a","{text}":1}}', f'{before}"{text}']
    for name in NAMES:  # keys that are like names as far as a byte
        lines += [f'{before}null,"{name[:n]}{special}{name[n + 1 :]}":null}}' for n in range(len(name) + 1)]
    fast, slow = read_both("iso8601", split_rows(Chunk(0, "\n".join(lines).encode())), PLAIN)
    assert fast == slow
    events = [event for event in fast if "reason" not in event]
    assert (len(events) >= 210) == (special not in ("\x00", "\x1f", '"', "\\"))


def test_lines_that_do_not_follow_each_other_are_read() -> None:
    lines = ['{"ts":"2024-03-05T08:00:00Z","user":"%s"}' % ("u" * n) for n in range(50)]
    rows = split_rows(Chunk(100, "\r\n\n".join(lines).encode()))
    parsed = ParsedChunk()
    some = np.array([3, 4, 9, 49])
    JsonRowReader(builtin_definitions()["proxy.events"]).read_rows(rows.select(some), parsed)
    ((_, batch),) = parsed.events
    assert batch.column("user").to_pylist() == ["u" * int(n) for n in some]
    assert batch.column("(offset)").to_pylist() == rows.offsets[some].tolist()


def test_threads_share_a_parser() -> None:
    parser = JsonParser(builtin_definitions()["proxy.events"])
    chunks = [
        Chunk(0, b"".join(b'{"ts":"2024-03-05T08:00:00Z","user":"%d-%d"}\n' % (n, i) for i in range(500)))
        for n in range(40)
    ]
    found: dict[int, list[str]] = {}

    def read(numbers: range) -> None:
        for n in numbers:
            ((_, batch),) = parser.parse(chunks[n]).events
            found[n] = batch.column("user").to_pylist()

    threads = [threading.Thread(target=read, args=(range(k, 40, 4),)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {n: [f"{n}-{i}" for i in range(500)] for n in range(40)}


pieces = st.sampled_from(
    ['"a"', '"b"', '"a" ', '"\\u0061"', '":"', '"\\u003a"', '"\\":"', '"x\\u0022:"', '"::1"', "1", "1.5", "null", "[1]"]
)
keys = st.sampled_from(['"a"', '"b"', '"c"', '"a" ', '"b"\t', '"\\u0061"', '":"', '"\\u003aa"', '"\\":"'])
members = st.recursive(
    pieces,
    lambda inner: st.one_of(
        st.lists(st.tuples(keys, inner), max_size=4).map(lambda m: "{" + ",".join(f"{k}:{v}" for k, v in m) + "}"),
        st.lists(inner, max_size=3).map(lambda items: "[" + ",".join(items) + "]"),
    ),
    max_leaves=8,
)


@given(st.lists(st.tuples(keys, members), max_size=4), st.booleans())
@settings(max_examples=count_examples(400))
def test_a_key_that_comes_twice_is_found_as_the_careful_decoder_finds_it(
    pairs: list[tuple[str, str]], told: bool
) -> None:
    line = ("{" + ",".join(f"{key}:{value}" for key, value in pairs) + "}").encode()
    found: list[Any] = []
    for decode in (decode_object, lambda raw: decode_unique(raw, told and not hides_colons(raw))):
        try:
            found.append(json.loads(json.dumps(decode(line), default=float)))
        except Unfit as error:
            found.append(str(error))
    assert found[0] == found[1]
