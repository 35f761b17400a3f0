"""TLS of the HTTP server: its certificate, and connections whose bytes are decrypted as they arrive.

waitress speaks plain HTTP over sockets that never block. ``TlsSocket`` is such a socket: the handshake goes on whenever
bytes arrive, in the server's own thread, and a client that does not end it is cut off like any other that is silent.
"""

from __future__ import annotations

import errno
import logging
import socket
import ssl
import stat
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

from watchfloor.schema.errors import SettingsError
from watchfloor.schema.files.paths import describe_error, show_path
from watchfloor.schema.settings.settings import Settings

from .connections import ClientConnection

RECORD_BYTES = 16 << 10
"""The most plain bytes of a TLS record (RFC 8446, section 5.1)."""
_WAITS = (ssl.SSLWantReadError, ssl.SSLWantWriteError)
log = logging.getLogger(__name__)


class TlsSocket:
    """A socket with TLS that never blocks. Several threads may use it: one of them at a time uses OpenSSL's state."""

    def __init__(self, opened: socket.socket, context: ssl.SSLContext) -> None:
        """Takes over ``opened``, which is connected to a client. Raises ``OSError`` if the client has gone."""
        opened.setblocking(False)
        self._tls = context.wrap_socket(opened, server_side=True, do_handshake_on_connect=False)
        self._lock = threading.Lock()
        self._arrived: bytes | None = None
        self.fileno, self.setblocking = self._tls.fileno, self._tls.setblocking
        self.getsockopt, self.getpeername = self._tls.getsockopt, self._tls.getpeername

    def decrypt_arrived(self) -> bool:
        """Decrypts what has arrived. Returns False if that is no more than a part of a record or of the handshake.

        Otherwise ``recv`` returns the plain bytes next; none if the client has closed the connection or broken TLS.
        """
        with self._lock:
            parts: list[bytes] = []
            try:
                while not parts or self._tls.pending():
                    parts.append(self._tls.recv(RECORD_BYTES))
            except _WAITS:
                if not parts:
                    return False
            except OSError as error:
                log.debug("a connection breaks TLS: %s", error)
                parts = []
            self._arrived = b"".join(parts)
            return True

    def recv(self, size: int) -> bytes:
        """Returns what ``decrypt_arrived`` has found, which may be more than ``size`` bytes."""
        arrived, self._arrived = self._arrived, None
        if arrived is None:
            raise BlockingIOError(errno.EWOULDBLOCK, "nothing has arrived")
        return arrived

    def send(self, data: bytes) -> int:
        """Returns how many bytes of ``data`` were taken: 0 while the client reads nothing.

        Raises ``ConnectionResetError`` if TLS has ended.
        """
        with self._lock:
            try:
                return self._tls.send(data)
            except _WAITS:
                return 0
            except ssl.SSLError as error:
                raise ConnectionResetError(errno.ECONNRESET, str(error)) from error

    def close(self) -> None:
        """Tells the client that no more follows, as far as that needs no waiting, and closes the connection."""
        with self._lock:
            with suppress(OSError, ValueError):
                self._tls.unwrap()
            self._tls.close()


class TlsConnection(ClientConnection):
    """A connection over a ``TlsSocket``."""

    def handle_read(self) -> None:
        """Handles what has arrived; overrides waitress' method, which takes no bytes for the end of the connection."""
        if self.socket.decrypt_arrived():
            super().handle_read()


def use_tls(server: Any, files: TlsFiles) -> None:
    """Makes a server, which has not begun to listen, speak TLS with the certificate of ``files``."""

    def open_connection(server: Any, opened: socket.socket, address: Any, adjustments: Any, map: Any) -> None:
        """Opens a connection. An error would make waitress close the socket that listens."""
        try:
            TlsConnection(server, TlsSocket(opened, files.open_context()), address, adjustments, map=map)
        except OSError as error:
            log.debug("a client has gone before its connection was accepted: %s", error)
            opened.close()

    server.channel_class = open_connection


class TlsFiles:
    """The files of a certificate and its key. New connections use what they hold when they are replaced."""

    def __init__(self, certificate: Path, key: Path) -> None:
        """Raises ``SettingsError`` if they are no certificate and its key, or if others can read the key."""
        self._certificate, self._key = certificate, key
        self._stamp = self._read_stamp()
        self._context = self._load_context()

    @classmethod
    def of_settings(cls, settings: Settings) -> TlsFiles | None:
        """Returns the files that the settings name; None if they name none. Raises ``SettingsError``, also for one."""
        certificate, key = settings.tls_certificate, settings.tls_key
        if certificate is None and key is None:
            return None
        if certificate is None or key is None:
            raise SettingsError("tls_certificate and tls_key go together: name the files of both, or of none")
        return cls(certificate, key)

    def open_context(self) -> ssl.SSLContext:
        """Returns the context for a new connection. Files that are not good are logged once, and not used."""
        stamp = self._read_stamp()
        if stamp != self._stamp:
            self._stamp = stamp
            try:
                self._context = self._load_context()
                log.info("the certificate was read again")
            except SettingsError as error:
                log.error("%s; until it is mended, the certificate that was read before stays in use", error)
        return self._context

    def _load_context(self) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.set_alpn_protocols(["http/1.1"])
        try:
            if stat.S_IMODE(self._key.stat().st_mode) & 0o077:
                raise SettingsError(f"{show_path(self._key)} can be read by others: chmod 600 it")
            # Without a password, a key that is encrypted would have OpenSSL ask for one at the terminal.
            context.load_cert_chain(self._certificate, self._key, password=b"")
        except ssl.SSLError as error:
            files = f"{show_path(self._certificate)} and {show_path(self._key)}"
            reason = error.reason or "they are not in PEM, or the key is encrypted"
            raise SettingsError(f"{files} are no certificate and its key: {reason}") from None
        except OSError as error:
            raise SettingsError(f"the certificate or its key cannot be read: {describe_error(error)}") from None
        return context

    def _read_stamp(self) -> tuple[int, ...]:
        """Returns what changes when one of the files is replaced."""
        stamp: list[int] = []
        for path in (self._certificate, self._key):
            with suppress(OSError):
                status = path.stat()
                stamp += (status.st_mtime_ns, status.st_ino, status.st_size)
        return tuple(stamp)
