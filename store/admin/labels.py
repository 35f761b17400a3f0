"""Visibility labels: the labels that a source uses, and those with which a user may read."""

from __future__ import annotations

from collections.abc import Sequence

import jpype

from watchfloor.schema.errors import StoreError
from watchfloor.schema.source import Source
from watchfloor.schema.visibility.expressions import list_labels
from watchfloor.store.bridge.connection import Connection


def collect_labels(source: Source) -> set[str]:
    """Returns the labels in all visibility expressions of a source."""
    expressions = [source.visibility, *(f.visibility for f in source.fields)]
    return {label for expression in expressions for label in list_labels(expression)}


def read_user_labels(connection: Connection, user: str) -> list[str]:
    """Returns all labels with which a user may read."""
    authorizations = connection.client.securityOperations().getUserAuthorizations(user)
    return [label for label in str(authorizations).split(",") if label]


def grant_labels(connection: Connection, users: Sequence[str], labels: set[str]) -> None:
    """Grants ``labels`` to each of ``users``, who keep the labels that they have. The first is the connection's own.

    On a cluster that user may lack the right to look at others and to grant labels. Then an administrator grants them:
    labels that the own user has count as granted to the others too. Raises ``StoreError`` if it lacks one.
    """
    if not labels:
        return
    own = users[0]
    try:
        for user in users:
            _add_labels(connection, user, labels)
    except jpype.JClass("org.apache.accumulo.core.client.AccumuloSecurityException") as error:
        if missing := sorted(labels - set(read_user_labels(connection, own))):
            raise StoreError(
                f"{own} may not grant labels: an administrator grants {', '.join(missing)} to {' and '.join(users)}"
            ) from error


def _add_labels(connection: Connection, user: str, labels: set[str]) -> None:
    """Grants labels to a user who lacks some of them."""
    granted = set(read_user_labels(connection, user))
    if not labels <= granted:
        authorizations = jpype.JClass("org.apache.accumulo.core.security.Authorizations")
        all_labels = authorizations(*sorted(granted | labels))
        connection.client.securityOperations().changeUserAuthorizations(user, all_labels)
