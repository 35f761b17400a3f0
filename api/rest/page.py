"""The web page: its files, which ``make setup`` builds from ``api/web`` into the folder ``static``.

The files are the same for everybody and hold no data, so they need no token. The page asks the API for what it shows.
"""

from __future__ import annotations

import gzip
import hashlib
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from flask import Flask, Response, request

from .base.problems import Problem

STATIC = Path(__file__).parent / "static"
INDEX = "index.html"
CONTENT_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
}
# Nothing is loaded from elsewhere, and neither scripts nor styles stand in the page itself.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Cache-Control": "no-cache",  # a browser keeps the file, and asks by its ETag whether it has changed
    "Content-Security-Policy": POLICY,
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "Vary": "Accept-Encoding",
    "X-Frame-Options": "DENY",
}


@dataclass(frozen=True)
class PageFile:
    """A file of the page. ``etag`` depends on the content alone."""

    content: bytes
    compressed: bytes
    content_type: str
    etag: str


def add_page(app: Flask, folder: Path = STATIC) -> list[str]:
    """Adds the page at ``/`` and its files at ``/static/NAME``; returns the endpoints, which need no token."""
    files = read_files(folder)
    # An empty path is the page too, else it would be answered by a redirect.
    app.add_url_rule("/", "page", partial(_send_file, files, INDEX), methods=["GET"], strict_slashes=False)
    app.add_url_rule("/static/<name>", "page file", partial(_send_file, files), methods=["GET"])
    return ["page", "page file"]


def read_files(folder: Path) -> dict[str, PageFile]:
    """Returns the files of the page by name; none if they were not built."""
    return {path.name: _read_file(path) for path in folder.glob("*") if path.suffix in CONTENT_TYPES}


def _read_file(path: Path) -> PageFile:
    content = path.read_bytes()
    etag = hashlib.sha256(content).hexdigest()[:32]
    return PageFile(content, gzip.compress(content, mtime=0), CONTENT_TYPES[path.suffix], etag)


def _send_file(files: dict[str, PageFile], name: str) -> Response:
    """Returns a file, compressed where the client takes that, or 304 if the client has it."""
    if not files:
        raise Problem("not-found", "the web page is not built here: run `make setup` and start the service again")
    if name not in files:
        raise Problem("not-found", "the web page has no such file")
    file = files[name]
    is_compressed = request.accept_encodings["gzip"] > 0
    response = Response(file.compressed if is_compressed else file.content, content_type=file.content_type)
    if is_compressed:
        response.headers["Content-Encoding"] = "gzip"
    response.headers.update(HEADERS)
    response.set_etag(f"{file.etag}-gzip" if is_compressed else file.etag)
    response.make_conditional(request)
    return response
