"""The service behind a proxy that ends TLS: browsers sign in by the proxy's name, streams pass, other sites do not.

In `make test`: it needs no servers; the certificate is made by the command `openssl`.
"""

from __future__ import annotations

import http.client
import json
import socket
import ssl
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from rest_fakes import GOOD, QUERY, TOKEN, FakeService, events, read_lines
from test_tls import make_certificate

from watchfloor.api.rest.base.access import COOKIE, FOREIGN

SESSION, NAME = "/api/v1/session", "watch.example"
HERE = {"Host": NAME, "Origin": f"https://{NAME}", "Sec-Fetch-Site": "same-origin"}
"""The headers that a browser sends with the page's own requests."""


class Proxy:
    """Ends TLS and hands bytes on to a service, for each connection. With ``own_host`` it changes the header Host."""

    def __init__(self, upstream: int, files: tuple[Path, Path], own_host: bool) -> None:
        self._upstream, self._own_host = upstream, own_host
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._context.load_cert_chain(*files)
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port = self._listening.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        with suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                threading.Thread(target=self._serve, args=self._listening.accept()[:1], daemon=True).start()

    def _serve(self, plain: socket.socket) -> None:
        with (
            suppress(OSError),
            self._context.wrap_socket(plain, server_side=True) as client,
            socket.create_connection(("127.0.0.1", self._upstream)) as service,
        ):
            first = client.recv(65_536)
            if self._own_host:
                first = first.replace(f"Host: {NAME}".encode(), f"Host: 127.0.0.1:{self._upstream}".encode())
            service.sendall(first)
            answers = threading.Thread(target=self._hand_on, args=(service, client), daemon=True)
            answers.start()
            self._hand_on(client, service)
            answers.join()

    @staticmethod
    def _hand_on(source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(65_536):
                target.sendall(data)
        for one in (source, target):  # a side that has left ends the other one
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)


@contextmanager
def start_proxy(upstream: int, folder: Path, own_host: bool = False) -> Iterator[Proxy]:
    proxy = Proxy(upstream, make_certificate(folder), own_host)
    try:
        yield proxy
    finally:
        proxy.close()


@pytest.fixture
def proxy(port: int, tmp_path: Path) -> Iterator[Proxy]:
    with start_proxy(port, tmp_path) as proxy:
        yield proxy


def ask(
    proxy: Proxy, method: str, path: str, body: Any = None, headers: Mapping[str, str] = HERE, cookie: str = ""
) -> http.client.HTTPResponse:
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    connection = http.client.HTTPSConnection("127.0.0.1", proxy.port, timeout=10, context=context)
    sent = dict(headers) | ({"Cookie": f"{COOKIE}={cookie}"} if cookie else {})
    # In one piece, so that the proxy has the whole head at once.
    text = None if body is None else json.dumps(body)
    connection.request(method, path, text, sent | {"Content-Type": "application/json"})
    return connection.getresponse()


def sign_in(proxy: Proxy) -> str:
    answer = ask(proxy, "POST", SESSION, {"token": TOKEN})
    assert answer.status == 200
    cookie = answer.headers["Set-Cookie"]
    assert "Secure" in cookie and "HttpOnly" in cookie and "Domain" not in cookie
    return cookie.partition(";")[0].removeprefix(f"{COOKIE}=")


def test_a_browser_works_by_the_name_of_the_proxy(proxy: Proxy, service: FakeService) -> None:
    cookie, gate = sign_in(proxy), threading.Event()
    assert json.loads(ask(proxy, "GET", SESSION, cookie=cookie).read())["name"] == "tests"
    service.batches = [events(0, 1), gate, events(1, 1)]
    stream = ask(proxy, "POST", QUERY, GOOD, cookie=cookie)
    assert json.loads(stream.readline())["path"] == "/0", "rows come as they are found"
    gate.set()
    assert read_lines(stream.read())[-1]["summary"]["rows"] == 2
    assert json.loads(ask(proxy, "DELETE", SESSION, cookie=cookie).read()) == {"ended": True}


@pytest.mark.parametrize(
    "origin",
    [
        "https://evil.example",
        f"https://{NAME}:8443",
        f"https://{NAME}.evil.example",
        f"https://{NAME}@evil.example",
        "null",
    ],
)
def test_other_sites_are_refused_by_the_name_of_the_proxy(proxy: Proxy, service: FakeService, origin: str) -> None:
    cookie = sign_in(proxy)
    for headers in ({**HERE, "Origin": origin}, {"Host": NAME, "Origin": origin}):
        answer = ask(proxy, "POST", QUERY, GOOD, headers, cookie)
        assert (answer.status, json.loads(answer.read())["detail"]) == (403, FOREIGN)
    assert not service.asked


@pytest.mark.parametrize(
    "claim", [{"X-Forwarded-Host": "evil.example"}, {"Forwarded": "host=evil.example"}, {"X-Forwarded-Port": "8443"}]
)
def test_what_a_client_says_of_proxies_is_not_believed(
    proxy: Proxy, service: FakeService, claim: dict[str, str]
) -> None:
    cookie = sign_in(proxy)
    foreign = {**HERE, "Origin": "https://evil.example", **claim}
    assert ask(proxy, "POST", QUERY, GOOD, foreign, cookie).status == 403
    assert ask(proxy, "POST", QUERY, GOOD, {**HERE, **claim}, cookie).status == 200
    assert len(service.asked) == 1


def test_a_proxy_must_hand_on_the_host(port: int, tmp_path: Path) -> None:
    with start_proxy(port, tmp_path, own_host=True) as proxy:
        answer = ask(proxy, "POST", SESSION, {"token": TOKEN})
        assert (answer.status, json.loads(answer.read())["detail"]) == (403, FOREIGN)


def test_a_client_that_leaves_the_proxy_ends_its_query(proxy: Proxy, service: FakeService) -> None:
    service.batches = [events(0, 1), threading.Event()]
    bearer = {"Host": NAME, "Authorization": f"Bearer {TOKEN}"}
    stream = ask(proxy, "POST", QUERY, GOOD, bearer)
    stream.readline()
    stream.close()
    assert service.results[0].closed.wait(5)
