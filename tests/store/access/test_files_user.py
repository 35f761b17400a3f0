"""As whom the ingest user opens the store's files in HDFS, by the settings of a cluster.

In `make test`: it reads settings alone.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from watchfloor.schema.settings.credentials import KerberosCredentials
from watchfloor.schema.settings.load import load_settings
from watchfloor.store.bridge.connection import find_files_user


@pytest.mark.parametrize("user", ["ingestor", "ingestor@EXAMPLE"])
def test_a_user_with_a_keytab_is_its_principal(tmp_path: Path, user: str) -> None:
    found = _find(tmp_path, user, f'ingest_keytab = "{tmp_path}/ingestor.keytab"\n')
    assert found == KerberosCredentials(user, tmp_path / "ingestor.keytab", tmp_path / "krb5.conf")


def test_a_user_with_a_realm_may_have_a_ticket_instead(tmp_path: Path) -> None:
    assert _find(tmp_path, "ingestor@EXAMPLE") == KerberosCredentials("ingestor@EXAMPLE", None, tmp_path / "krb5.conf")


def test_a_user_with_a_password_alone_is_no_principal(tmp_path: Path) -> None:
    assert _find(tmp_path, "ingestor") is None


def _find(folder: Path, user: str, more: str = "") -> KerberosCredentials | None:
    """Returns the principal on a cluster whose users have passwords."""
    client = folder / "accumulo-client.properties"
    client.write_text("instance.name=cluster\n")
    lines = f'client_properties = "{client}"\ningest_user = "{user}"\nkerberos_config = "{folder}/krb5.conf"\n'
    (folder / "watchfloor.toml").write_text(lines + more)
    return find_files_user(load_settings(home=folder))
