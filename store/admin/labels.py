"""Visibility labels: which of them a source uses, and which of them a user may ask for."""

from __future__ import annotations

import re
from collections.abc import Sequence

import jpype

from watchfloor.schema.source import Source
from watchfloor.store.bridge.connection import Connection


def collect_labels(source: Source) -> set[str]:
    """Returns the labels in all visibility expressions of a source."""
    expressions = [source.visibility, *(f.visibility for f in source.fields)]
    return {word for expression in expressions for word in re.split(r"[&|]", expression) if word}


def read_user_labels(connection: Connection, user: str) -> list[str]:
    """Returns all labels that a user may ask for."""
    authorizations = connection.client.securityOperations().getUserAuthorizations(user)
    return [label for label in str(authorizations).split(",") if label]


def grant_labels(connection: Connection, users: Sequence[str], labels: set[str]) -> None:
    """Lets ``users`` ask for these labels, beside those they have. Each query names those that it may see."""
    if not labels:
        return
    authorizations = jpype.JClass("org.apache.accumulo.core.security.Authorizations")
    for user in users:
        granted = set(read_user_labels(connection, user))
        if not labels <= granted:
            all_labels = authorizations(*sorted(granted | labels))
            connection.client.securityOperations().changeUserAuthorizations(user, all_labels)
