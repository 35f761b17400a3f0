"""Log files in an object store are loaded as files of this host are, and what goes wrong there is told.

In `make test`: a server of the S3 protocol in this process, and files of some hundred lines.
"""

from __future__ import annotations

import gzip
import io
import json
import os
import socket
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ingest_support import counts, exactly, line, load, own, source
from moto.server import ThreadedMotoServer
from pyarrow import fs

from watchfloor.ingest.files.lines import read_chunks
from watchfloor.ingest.files.open_file import open_log_file
from watchfloor.ingest.files.remote import remote_log, remote_systems
from watchfloor.ingest.files.remote.remote_log import find_remote_files, read_remote_state
from watchfloor.ingest.intake import logs_in_file
from watchfloor.ingest.intake.load import Load
from watchfloor.ingest.intake.logs_in_file import sniff_logs_at
from watchfloor.schema.errors import InputFileError, UnreachableFileError
from watchfloor.schema.settings.settings import Settings
from watchfloor.store.store import Store

LINES = 400
Put = Callable[[str, bytes], str]


@pytest.fixture(scope="module")
def put() -> Iterator[Put]:
    """Puts an object into the bucket ``logs``, and returns its address."""
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    known = {name: os.environ.get(name) for name in list(os.environ) if name.startswith("AWS_")}
    given = {"ENDPOINT_URL": f"http://{host}:{port}", "ACCESS_KEY_ID": "key", "SECRET_ACCESS_KEY": "secret"}
    os.environ.update({f"AWS_{name}": value for name, value in {**given, "DEFAULT_REGION": "us-east-1"}.items()})
    remote_systems._open_s3.cache_clear()
    store = fs.S3FileSystem(endpoint_override=os.environ["AWS_ENDPOINT_URL"], allow_bucket_creation=True)
    store.create_dir("logs")

    def put_object(key: str, content: bytes) -> str:
        with store.open_output_stream(f"logs/{key}", compression=None) as out:
            out.write(content)
        return f"s3://logs/{key}"

    yield put_object
    server.stop()
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        del os.environ[name]
    os.environ.update({name: value for name, value in known.items() if value is not None})
    remote_systems._open_s3.cache_clear()


def text_of(salt: str, lines: int = LINES) -> bytes:
    return "".join(line(number, salt) + "\n" for number in range(lines)).encode()


@pytest.mark.stack
def test_objects_are_loaded_exactly_once(store_settings: Settings, put: Put) -> None:
    """A plain file of several work items, compressed ones, and a member of an archive; by addresses and patterns."""
    zipped = io.BytesIO()
    with zipfile.ZipFile(zipped, "w") as archive:
        archive.writestr("inner.log", text_of("zip"))
    put("app/2024/plain.log", text_of("plain", 4 * LINES))
    put("app/2024/packed.log.gz", gzip.compress(text_of("packed")))
    put("app/2025/deep.log", text_of("deep"))
    put("other/zipped.zip", zipped.getvalue())
    settings = own(store_settings, "s3")
    with Store.open(store_settings) as store:
        kind = store.catalog.register(source("s3"))
        assert load(settings, "s3://logs/app/*/*.log*", feed=kind.name).events == 6 * LINES  # type: ignore[arg-type]
        assert load(settings, "s3://logs/other/zipped.zip", feed=kind.name).events == LINES  # type: ignore[arg-type]
        assert counts(store, kind) == exactly(kind, 7 * LINES)
        assert load(settings, "s3://logs/app/", feed=kind.name).events == 0  # type: ignore[arg-type]
        put("app/2025/deep.log", text_of("deep") + text_of("more", 10))
        assert load(settings, "s3://logs/app/2025/deep.log", feed=kind.name).events == 10  # type: ignore[arg-type]
        assert counts(store, kind) == exactly(kind, 7 * LINES + 10)


@given(st.lists(st.integers(0, 60), min_size=1, max_size=40), st.data())
def test_the_lines_of_an_item_are_read_from_its_part_alone(put: Put, lengths: list[int], data: st.DataObject) -> None:
    """The rest of the file is a hole: no byte of it becomes part of a line."""
    lines = [b"x" * length + b"\n" for length in lengths]
    content, ends = b"".join(lines), [0]
    for one in lines:
        ends.append(ends[-1] + len(one))
    first = data.draw(st.integers(0, len(lines) - 1))
    last = data.draw(st.integers(first + 1, len(lines)))
    address = put("spans.log", content)
    span = (ends[first], ends[last], read_remote_state(address))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(remote_log, "HEAD_BYTES", 4)
        with open_log_file(address, span=span) as file:
            chunks = list(read_chunks(file, ends[first], ends[last], chunk_bytes=64))
            file.seek(0)
            fetched = file.read()
    assert b"".join(chunk.data for chunk in chunks) == content[ends[first] : ends[last]]
    assert fetched == bytes(byte if at < 4 or ends[first] <= at < ends[last] else 0 for at, byte in enumerate(content))


def test_a_large_file_is_recognised_by_its_beginning(put: Put, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A plain or compressed one; an archive, and a document, is fetched whole."""
    lines = [{"_path": "dns", "ts": n, "uid": f"C{n}", "query": os.urandom(20).hex()} for n in range(4_000)]
    content = "".join(json.dumps(one) + "\n" for one in lines).encode()
    zipped = io.BytesIO()
    with zipfile.ZipFile(zipped, "w") as archive:
        archive.writestr("inner.log", content)
    document = json.dumps({"Records": lines}).encode()
    fetched: list[int] = []
    fetch = remote_systems._S3.fetch_range

    def note_range(self: remote_systems._S3, address: str, start: int, end: int, target: int) -> None:
        fetched.append(end - start)
        fetch(self, address, start, end, target)

    monkeypatch.setattr(remote_systems._S3, "fetch_range", note_range)
    monkeypatch.setattr(logs_in_file, "SNIFFED_BYTES", 120_000)
    forms = {"a.log": content, "a.log.gz": gzip.compress(content), "a.zip": zipped.getvalue(), "a.json": document}
    for name, packed in forms.items():
        address, local = put(name, packed), tmp_path / name
        local.write_bytes(packed)
        assert len(packed) > 120_000
        found = sniff_logs_at(address, "zeek", {})
        assert found == sniff_logs_at(str(local), "zeek", {})
        is_whole = name in ("a.zip", "a.json")
        assert (found.logs.popitem()[1].feed, fetched) == ("zeek", [120_000, len(packed)] if is_whole else [120_000])
        fetched.clear()


def test_a_file_that_is_another_now_is_fetched_whole(put: Put) -> None:
    address = put("whole.log", text_of("old"))
    stale = read_remote_state(address)
    put("whole.log", text_of("new"))
    with open_log_file(address, span=(0, 10, stale)) as file:
        assert file.read() == text_of("new")


def test_a_file_that_changes_while_it_is_fetched_is_refused(put: Put, monkeypatch: pytest.MonkeyPatch) -> None:
    address = put("moving.log", text_of("old"))
    fetch = remote_systems._S3.fetch_range

    def fetch_and_change(self: object, *arguments: object) -> None:
        fetch(self, *arguments)  # type: ignore[arg-type]
        put("moving.log", text_of("new"))

    monkeypatch.setattr(remote_systems._S3, "fetch_range", fetch_and_change)
    with pytest.raises(InputFileError, match=r"moving\.log: changed while it was fetched"):
        open_log_file(address)


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("s3://logs/none.log", "there is no such file"),
        ("s3://nobucket/none.log", "none.log"),
        ("s3://nobucket/*.log", "no file is there, or fits"),
        ("s3://logs/nothing/*.log", "no file is there, or fits"),
        ("s3://key:secret@logs/none.log", "do not belong into an address"),
        ("s3:///none.log", "no bucket"),
        ("s3://logs/../none.log", "does not name a file"),
        ("hdfs://user@host/none.log", "do not belong into an address"),
    ],
)
def test_what_cannot_be_read_is_named(put: Put, store_settings: Settings, address: str, message: str) -> None:
    with pytest.raises(InputFileError, match=message):
        Load(store_settings, [address], "some.feed")


def test_an_object_store_that_does_not_answer_is_named(put: Put, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{closed.getsockname()[1]}")
        remote_systems._open_s3.cache_clear()
        with pytest.raises(UnreachableFileError, match=r"s3://logs/a\.log: .*S3 answers: "):
            open_log_file("s3://logs/a.log")
    remote_systems._open_s3.cache_clear()


def test_a_folder_without_room_is_named(put: Put, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    address = put("large.log", text_of("large"))
    monkeypatch.setattr(remote_log, "_SPARE_BYTES", 1 << 62)
    with pytest.raises(UnreachableFileError, match=r"has no room for .* set TMPDIR"):
        open_log_file(address)
    monkeypatch.undo()
    assert find_remote_files("s3://logs/large.log") == [address]
