"""The server speaks TLS: whole answers to slow and to hostile clients, and a certificate that can be replaced.

In `make test`: it needs no servers; the certificates are made by the command `openssl`.
"""

from __future__ import annotations

import http.client
import json
import shutil
import socket
import ssl
import struct
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from rest_fakes import BEARER, GOOD, QUERY, TOKEN, FakeService, events, read_lines
from served import serve_app

from watchfloor.api.client import Client, ServiceUnreachable
from watchfloor.api.rest.base.limits import RestLimits
from watchfloor.api.rest.tls import TlsFiles
from watchfloor.schema.errors import SettingsError
from watchfloor.schema.settings.load import load_settings

LIMITS = RestLimits(queries=2, queries_per_token=2, wait_seconds=1.5, stalled_seconds=2)

if shutil.which("openssl") is None:
    pytest.skip("no command `openssl` makes certificates here", allow_module_level=True)


def make_certificate(folder: Path, name: str = "127.0.0.1", password: str | None = None) -> tuple[Path, Path]:
    """Writes a certificate that signs itself, and its key, over those that are there."""
    certificate, key = folder / "certificate.pem", folder / "key.pem"
    secrecy = ["-noenc"] if password is None else ["-passout", f"pass:{password}"]
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-days", "2"]
    names = ["-subj", f"/CN={name}", "-addext", "subjectAltName=IP:127.0.0.1"]
    new = [path.with_suffix(".new") for path in (certificate, key)]
    subprocess.run([*command, *secrecy, *names, "-out", new[0], "-keyout", new[1]], check=True, capture_output=True)
    for path, made in zip((certificate, key), new, strict=True):
        made.chmod(0o600)
        made.replace(path)
    return certificate, key


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    return make_certificate(tmp_path)


@pytest.fixture
def port(app: Flask, files: tuple[Path, Path]) -> Iterator[int]:
    with serve_app(app, LIMITS, TlsFiles(*files)) as port:
        yield port


def trusting(files: tuple[Path, Path]) -> ssl.SSLContext:
    return ssl.create_default_context(cafile=str(files[0]))


def ask(port: int, context: ssl.SSLContext, path: str = QUERY, body: Any = GOOD) -> http.client.HTTPResponse:
    connection = http.client.HTTPSConnection("127.0.0.1", port, timeout=10, context=context)
    connection.request("POST", path, json.dumps(body), BEARER | {"Content-Type": "application/json"})
    return connection.getresponse()


def is_healthy(port: int, files: tuple[Path, Path]) -> bool:
    connection = http.client.HTTPSConnection("127.0.0.1", port, timeout=2, context=trusting(files))
    connection.request("GET", "/healthz")
    return connection.getresponse().status == 200


def test_the_client_asks_over_tls(port: int, files: tuple[Path, Path], service: FakeService) -> None:
    service.batches = [events(0, 5), events(5, 5)]
    connected = Client(f"https://127.0.0.1:{port}", token=TOKEN, ca_file=str(files[0]))
    assert [event["path"] for event in connected.query("web.access")] == [f"/{n}" for n in range(10)]
    with pytest.raises(ServiceUnreachable, match="certificate"):
        Client(f"https://127.0.0.1:{port}", token=TOKEN).sources()
    with pytest.raises(ServiceUnreachable):
        Client(f"http://127.0.0.1:{port}", token=TOKEN).sources()
    assert is_healthy(port, files)


def test_a_browsers_cookie_is_sent_over_tls_alone(port: int, files: tuple[Path, Path]) -> None:
    response = ask(port, trusting(files), "/api/v1/session", {"token": TOKEN})
    assert response.status == 200 and "Secure" in (response.getheader("Set-Cookie") or "")


def test_a_long_answer_is_whole_though_it_is_read_in_bits(
    port: int, files: tuple[Path, Path], service: FakeService
) -> None:
    service.batches = [events(n * 1000, 1000) for n in range(100)]
    response = ask(port, trusting(files))
    parts = []
    while part := response.read(99_991):
        parts.append(part)
        time.sleep(0.005 if len(parts) % 10 else 0.1)
    lines = read_lines(b"".join(parts))
    assert [line["path"] for line in lines[:-1]] == [f"/{n}" for n in range(100_000)]
    assert lines[-1]["summary"]["rows"] == 100_000


def test_a_client_that_leaves_ends_its_query(port: int, files: tuple[Path, Path], service: FakeService) -> None:
    service.batches = [events(0, 1), threading.Event()]
    response = ask(port, trusting(files))
    response.readline()
    assert not service.results[0].closed.is_set()
    response.close()
    assert service.results[0].closed.wait(5), "the query was still open 5 s after its client had left"


def test_a_client_that_does_not_read_is_cut_off(port: int, files: tuple[Path, Path], service: FakeService) -> None:
    service.batches = [events(0, 10_000)] * 500
    response = ask(port, trusting(files))
    assert service.results[0].closed.wait(20), "the query of a client that does not read is still open"
    with pytest.raises((OSError, http.client.HTTPException)):
        response.read()
    assert is_healthy(port, files)


def test_bytes_come_one_by_one(port: int, files: tuple[Path, Path]) -> None:
    """Records are cut at each byte, so that most of what arrives is only a part of one."""
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    tls = trusting(files).wrap_bio(incoming, outgoing, server_hostname="127.0.0.1")
    with socket.create_connection(("127.0.0.1", port), timeout=10) as plain:
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

        def send_slowly() -> None:
            for byte in outgoing.read():
                plain.sendall(bytes([byte]))

        while True:
            try:
                tls.do_handshake()
                break
            except ssl.SSLWantReadError:
                send_slowly()
                incoming.write(plain.recv(1 << 16))
        tls.write(b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        send_slowly()
        answer = b""
        while received := plain.recv(1 << 16):
            incoming.write(received)
            try:
                while part := tls.read(1 << 16):
                    answer += part
            except (ssl.SSLWantReadError, ssl.SSLZeroReturnError):
                pass
    assert answer.startswith(b"HTTP/1.1 200") and b'"status"' in answer


def test_several_requests_in_one_record(port: int, files: tuple[Path, Path]) -> None:
    request = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"
    with (
        socket.create_connection(("127.0.0.1", port), timeout=10) as plain,
        trusting(files).wrap_socket(plain, server_hostname="127.0.0.1") as tls,
    ):
        tls.sendall(2 * request + request.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"))
        answer = b""
        while part := tls.recv(1 << 16):
            answer += part
    assert answer.count(b"HTTP/1.1 200") == 3


@pytest.mark.parametrize(
    "sent", [b"", b"\x16", b"GET /healthz HTTP/1.1\r\n\r\n", b"\x16\x03\x01\x02\x00\x01" + b"\xff" * 512]
)
def test_clients_that_break_the_handshake_stop_nobody(port: int, files: tuple[Path, Path], sent: bytes) -> None:
    with ExitStack() as stack:
        for _ in range(50):
            plain = stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=10))
            plain.sendall(sent)
        began = time.monotonic()
        assert is_healthy(port, files)
        assert time.monotonic() - began < 2
        if len(sent) > 1:
            with suppress(ConnectionResetError):
                while plain.recv(1 << 16):  # an alert of TLS may come before the end
                    pass


def test_clients_that_are_gone_before_they_are_accepted_stop_nobody(port: int, files: tuple[Path, Path]) -> None:
    for sent in (b"", b"\x16\x03\x01") * 150:
        plain = socket.create_connection(("127.0.0.1", port), timeout=10)
        plain.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # it resets the connection
        plain.sendall(sent)
        plain.close()
    assert is_healthy(port, files)


def test_a_new_certificate_is_used_for_new_connections(tmp_path: Path, app: Flask) -> None:
    files = make_certificate(tmp_path, "first")
    first = trusting(files)
    with serve_app(app, LIMITS, TlsFiles(*files)) as port:
        kept = http.client.HTTPSConnection("127.0.0.1", port, timeout=10, context=first)
        kept.request("GET", "/healthz")
        assert kept.getresponse().read()
        make_certificate(tmp_path, "second")
        assert is_healthy(port, files)
        with pytest.raises(ssl.SSLCertVerificationError):
            ask(port, first)
        kept.request("GET", "/healthz")
        assert kept.getresponse().status == 200
        good = trusting(files)
        files[0].write_text("no certificate")
        assert ask(port, good).status == 200


def test_files_that_are_not_good_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir(), (tmp_path / "b").mkdir()
    (certificate, key), (other, _) = make_certificate(tmp_path / "a"), make_certificate(tmp_path / "b")
    for pair, reason in (
        ((other, key), "no certificate and its key"),
        ((key, certificate), "no certificate and its key"),
        ((tmp_path / "none", key), "cannot be read: No such file"),
        ((certificate, tmp_path / "none"), "cannot be read: No such file"),
        (make_certificate(tmp_path / "b", password="secret"), "no certificate and its key"),
    ):
        with pytest.raises(SettingsError, match=reason):
            TlsFiles(*pair)
    key.chmod(0o640)
    with pytest.raises(SettingsError, match="chmod 600"):
        TlsFiles(certificate, key)
    settings = replace(load_settings(home=tmp_path), tls_certificate=certificate)
    with pytest.raises(SettingsError, match="go together"):
        TlsFiles.of_settings(settings)
