"""Certificates of a stack are signed by its authority, kept while they are valid, and made anew before they end.

In `make test`: it writes some small files.
"""

from __future__ import annotations

import datetime
import stat
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.serialization import pkcs12

from watchfloor.schema.errors import StackError
from watchfloor.schema.settings.load import load_settings
from watchfloor.schema.settings.settings import Settings
from watchfloor.store.stack.home.home_folder import make_folders, make_secrets
from watchfloor.store.stack.security import certificates
from watchfloor.store.stack.security.certificates import (
    authority_file,
    key_store,
    make_certificates,
    read_store_password,
    tls_folder,
)


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    settings = load_settings(tmp_path / "home")
    make_folders(settings)
    make_secrets(settings)
    make_certificates(settings)
    return settings


def read_files(settings: Settings) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in tls_folder(settings).iterdir()}


def find_certificate(settings: Settings, name: str) -> x509.Certificate:
    store = pkcs12.load_pkcs12(key_store(settings, name).read_bytes(), read_store_password(settings).encode())
    assert store.cert is not None and store.key is not None
    return store.cert.certificate


def test_servers_and_clients_have_keys_that_the_authority_has_signed(settings: Settings) -> None:
    authority = x509.load_pem_x509_certificate(authority_file(settings).read_bytes())
    for name in ("servers", "clients"):
        find_certificate(settings, name).verify_directly_issued_by(authority)
    hosts = find_certificate(settings, "servers").extensions.get_extension_for_class(x509.SubjectAlternativeName)
    assert hosts.value.get_values_for_type(x509.DNSName) == ["localhost"]
    with pytest.raises(x509.ExtensionNotFound):
        find_certificate(settings, "clients").extensions.get_extension_for_class(x509.SubjectAlternativeName)


def test_nobody_else_reads_a_file(settings: Settings) -> None:
    for path in (tls_folder(settings), *tls_folder(settings).iterdir()):
        assert not stat.S_IMODE(path.stat().st_mode) & 0o077, path


def test_what_is_valid_stays(settings: Settings) -> None:
    before = read_files(settings)
    make_certificates(settings)
    assert read_files(settings) == before


def test_what_ends_within_a_month_is_made_anew_by_the_same_authority(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = read_files(settings)
    later = datetime.datetime.now(datetime.UTC) + datetime.timedelta(days=340)
    monkeypatch.setattr(certificates, "_now", lambda: later)
    make_certificates(settings)
    after = read_files(settings)
    changed = {name for name, content in after.items() if before[name] != content}
    assert changed == {"servers.p12", "servers.pem", "clients.p12", "clients.pem"}
    assert find_certificate(settings, "servers").not_valid_after_utc > later + datetime.timedelta(days=300)


def test_a_new_authority_signs_all_anew(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    before = read_files(settings)
    later = datetime.datetime.now(datetime.UTC) + datetime.timedelta(days=3640)
    monkeypatch.setattr(certificates, "_now", lambda: later)
    make_certificates(settings)
    assert not set(before.items()) & set(read_files(settings).items())
    authority = x509.load_pem_x509_certificate(authority_file(settings).read_bytes())
    find_certificate(settings, "clients").verify_directly_issued_by(authority)


def test_a_damaged_file_is_named_with_the_remedy(settings: Settings) -> None:
    authority_file(settings).write_text("-----BEGIN CERTIFICATE-----\nnone\n")
    with pytest.raises(StackError, match=r"secret/tls cannot be used.*remove that folder"):
        make_certificates(settings)
