"""The certificates of a stack with TLS: an authority of its own, and one certificate each for servers and clients.

The authority's key stays in the stack's folder, like all keys. Java's programs read PKCS #12 stores, kafka-python the
authority's certificate as PEM.
"""

from __future__ import annotations

import datetime
import ipaddress
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import pkcs12
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from watchfloor.schema.errors import StackError
from watchfloor.schema.files.paths import describe_error, show_path
from watchfloor.schema.settings.settings import Settings
from watchfloor.store.runtime.private_files import make_private_folder, write_private

_AUTHORITY_DAYS, _DAYS, _LEAST_DAYS = 3650, 365, 30
"""The days that the authority's and other certificates are valid, and the days left at which ``up`` makes new ones."""
_NAMES = ("servers", "clients")
_HOSTS = [x509.DNSName("localhost"), x509.IPAddress(ipaddress.IPv4Address("127.0.0.1"))]


def tls_folder(settings: Settings) -> Path:
    """Returns the folder with all keys and certificates."""
    return settings.secret_folder / "tls"


def authority_file(settings: Settings) -> Path:
    """Returns the file with the authority's certificate (PEM), by which clients check servers."""
    return tls_folder(settings) / "authority.pem"


def key_store(settings: Settings, name: str) -> Path:
    """Returns the PKCS #12 store with the key and the certificate of ``servers`` or ``clients``."""
    return tls_folder(settings) / f"{name}.p12"


def trust_store(settings: Settings) -> Path:
    """Returns the PKCS #12 store with the authority's certificate alone."""
    return tls_folder(settings) / "trust.p12"


def read_store_password(settings: Settings) -> str:
    """Returns the password of all key stores."""
    return (settings.secret_folder / "tls.password").read_text().strip()


def make_certificates(settings: Settings) -> None:
    """Makes the authority, if there is none, and the certificates that are missing or end within a month.

    Raises ``StackError`` if a file that is there cannot be read.
    """
    folder = tls_folder(settings)
    make_private_folder(folder)
    try:
        if not _is_fresh(authority_file(settings)):
            _make_authority(settings)
        key = serialization.load_pem_private_key((folder / "authority.key").read_bytes(), password=None)
        authority = x509.load_pem_x509_certificate(authority_file(settings).read_bytes())
        for name in _NAMES:
            if not _is_fresh(folder / f"{name}.pem", authority) or not key_store(settings, name).exists():
                _make_certificate(settings, name, key, authority)
    except (OSError, ValueError, TypeError) as error:
        raise StackError(
            f"the certificates in {show_path(folder)} cannot be used ({describe_error(error)}): "
            "remove that folder to have new ones made"
        ) from error


def _is_fresh(path: Path, authority: x509.Certificate | None = None) -> bool:
    """Returns whether a certificate exists, is valid for another month, and was signed by the authority."""
    if not path.exists():
        return False
    found = x509.load_pem_x509_certificate(path.read_bytes())
    ours = authority is None or found.issuer == authority.subject
    return ours and found.not_valid_after_utc > _now() + datetime.timedelta(days=_LEAST_DAYS)


def _make_authority(settings: Settings) -> None:
    """Makes a new authority. What an earlier one has signed is then no longer fresh, as its name is another."""
    key = ec.generate_private_key(ec.SECP256R1())
    serial = x509.random_serial_number()
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, f"watchfloor authority {serial:x}")])
    usage = x509.KeyUsage(
        digital_signature=False, content_commitment=False, key_encipherment=False, data_encipherment=False,
        key_agreement=False, key_cert_sign=True, crl_sign=True, encipher_only=False, decipher_only=False,
    )  # fmt: skip
    authority = (
        _begin(name, name, key, serial, _AUTHORITY_DAYS)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(usage, critical=True)
        .sign(key, hashes.SHA256())
    )
    write_private(tls_folder(settings) / "authority.key", _format_key(key))
    write_private(authority_file(settings), authority.public_bytes(serialization.Encoding.PEM))
    trusted = pkcs12.PKCS12Certificate(authority, b"authority")
    write_private(trust_store(settings), pkcs12.serialize_java_truststore([trusted], _encryption(settings)))


def _make_certificate(settings: Settings, name: str, signer: object, authority: x509.Certificate) -> None:
    """Makes the key, the certificate and the key store of ``servers`` or ``clients``."""
    assert isinstance(signer, ec.EllipticCurvePrivateKey)
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, f"watchfloor {name}")])
    purposes = [ExtendedKeyUsageOID.CLIENT_AUTH]
    builder = _begin(subject, authority.subject, key, x509.random_serial_number(), _DAYS)
    if name == "servers":
        # A server of Accumulo is a client of others.
        purposes.append(ExtendedKeyUsageOID.SERVER_AUTH)
        builder = builder.add_extension(x509.SubjectAlternativeName(_HOSTS), critical=False)
    certificate = (
        builder.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(x509.ExtendedKeyUsage(purposes), critical=False)
        .sign(signer, hashes.SHA256())
    )
    store = pkcs12.serialize_key_and_certificates(name.encode(), key, certificate, [authority], _encryption(settings))
    write_private(key_store(settings, name), store)
    write_private(tls_folder(settings) / f"{name}.pem", certificate.public_bytes(serialization.Encoding.PEM))


def _begin(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey, serial: int, days: int
) -> x509.CertificateBuilder:
    """Returns a certificate with all but its extensions. It is valid from an hour ago, as clocks differ."""
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(serial)
        .not_valid_before(_now() - datetime.timedelta(hours=1))
        .not_valid_after(_now() + datetime.timedelta(days=days))
    )


def _format_key(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


def _encryption(settings: Settings) -> serialization.KeySerializationEncryption:
    return serialization.BestAvailableEncryption(read_store_password(settings).encode())


def _now() -> datetime.datetime:
    return datetime.datetime.now(datetime.UTC)
