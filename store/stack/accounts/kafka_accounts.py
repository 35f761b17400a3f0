"""Kafka's two accounts: the stack's administrator, which the broker uses too, and the one of ingest.

Both authenticate by SCRAM, which does not send the password. Kafka's storage gets them when it is formatted. What the
account of ingest may do is granted at each start; nobody else may do anything.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kafka import KafkaAdminClient
from kafka.admin import ACL, ACLOperation, ACLPermissionType, ACLResourcePatternType, ResourcePattern, ResourceType
from kafka.errors import KafkaError

from watchfloor.schema.errors import StackError
from watchfloor.schema.files.paths import show_path
from watchfloor.schema.settings.settings import KAFKA_USER, Settings
from watchfloor.store.runtime.private_files import write_private

ADMIN = "admin"
MECHANISM = "SCRAM-SHA-512"
_OWN_NAMES = "watchfloor"
"""The beginning of the names of all topics and groups that ingest may use, beside those that the settings name."""
_ON_TOPICS = ("READ", "WRITE", "CREATE", "DELETE", "DESCRIBE", "DESCRIBE_CONFIGS", "ALTER_CONFIGS")
_ON_GROUPS = ("READ", "DESCRIBE", "DELETE")


def password_files(settings: Settings) -> dict[str, Path]:
    """Returns the file with the password of each account."""
    folder = settings.secret_folder
    return {ADMIN: folder / "kafka-admin.password", KAFKA_USER: folder / "kafka.password"}


def account_properties(settings: Settings) -> dict[str, object]:
    """Returns the broker's properties that make every connection authenticate, and deny what is not granted.

    The broker talks to its own controller on a port of the same process, so there PLAIN shows its password to nobody.
    """
    password = password_files(settings)[ADMIN].read_text().strip()
    login = f'required username="{ADMIN}" password="{password}"'
    modules = "org.apache.kafka.common.security"
    return {
        "sasl.enabled.mechanisms": MECHANISM,
        "sasl.mechanism.inter.broker.protocol": MECHANISM,
        "listener.name.client.scram-sha-512.sasl.jaas.config": f"{modules}.scram.ScramLoginModule {login};",
        "sasl.mechanism.controller.protocol": "PLAIN",
        "listener.name.controller.sasl.enabled.mechanisms": "PLAIN",
        "listener.name.controller.plain.sasl.jaas.config": (
            f'{modules}.plain.PlainLoginModule {login} user_{ADMIN}="{password}";'
        ),
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": f"User:{ADMIN}",
        "allow.everyone.if.no.acl.found": "false",
    }


@contextmanager
def hold_format_arguments(settings: Settings) -> Iterator[str]:
    """Yields the argument of Kafka's formatting command that names a file with the accounts and their passwords.

    The file can be read by its owner alone and is removed at the end. Arguments can be read by every user.
    """
    path = settings.secret_folder / "kafka-format.arguments"
    lines = []
    for user, file in password_files(settings).items():
        lines += ["--add-scram", f"{MECHANISM}=[name={user},password={file.read_text().strip()}]"]
    write_private(path, "\n".join(lines) + "\n")
    try:
        yield f"@{path}"
    finally:
        path.unlink(missing_ok=True)


def grant_access(settings: Settings, port: int, deadline: float) -> None:
    """Lets the account of ingest use the topics and groups of work items.

    Raises ``StackError`` if Kafka refuses the administrator or does not answer before ``deadline`` (monotonic seconds).
    """
    password, certificates = password_files(settings)[ADMIN], settings.kafka_certificates
    try:
        admin = KafkaAdminClient(
            bootstrap_servers=f"127.0.0.1:{port}",
            security_protocol="SASL_SSL" if certificates else "SASL_PLAINTEXT",
            ssl_cafile=str(certificates) if certificates else None,
            sasl_mechanism=MECHANISM,
            sasl_plain_username=ADMIN,
            sasl_plain_password=password.read_text().strip(),
            bootstrap_timeout_ms=max(1_000, int(1_000 * min(15, deadline - time.monotonic()))),
        )
        try:
            failed = admin.create_acls(list(_list_grants(settings)))["failed"]
        finally:
            admin.close()
    except (KafkaError, OSError) as error:
        raise StackError(
            f"Kafka does not let the stack's own account in ({type(error).__name__}: {error}): if "
            f"{show_path(password)} is not the one that it was set up with, restore that file, or move "
            f"{show_path(settings.home / 'data/kafka')} away"
        ) from error
    if failed:
        raise StackError(f"Kafka does not grant access to the account of ingest: {failed[0]}")


def _list_grants(settings: Settings) -> Iterator[ACL]:
    """Yields every permission of the account of ingest."""
    for kind, named, operations in (
        (ResourceType.TOPIC, settings.topic, _ON_TOPICS),
        (ResourceType.GROUP, settings.group, _ON_GROUPS),
    ):
        for name, pattern in ((_OWN_NAMES, ACLResourcePatternType.PREFIXED), (named, ACLResourcePatternType.LITERAL)):
            resource = ResourcePattern(kind, name, pattern)
            for operation in operations:
                yield ACL(f"User:{KAFKA_USER}", "*", ACLOperation[operation], ACLPermissionType.ALLOW, resource)
