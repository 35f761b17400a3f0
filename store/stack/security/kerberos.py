"""The KDC of a stack: MIT Kerberos's ``krb5kdc`` as a process of the stack, with a realm and files of its own.

Nothing of the system's own Kerberos is read or written. Principals have random keys, which are in keytabs that their
owner alone can read: one of the servers, one of each role's user.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from watchfloor.schema.errors import StackError
from watchfloor.schema.settings.settings import REALM, Settings
from watchfloor.store.runtime.private_files import make_private_folder, write_private

HOST = "localhost"
"""The host in the principals of servers; servers listen at its address, and announce its name."""
SERVICE = "accumulo"
_PROGRAMS = {"krb5kdc": "krb5-kdc", "kdb5_util": "krb5-kdc", "kadmin.local": "krb5-admin-server"}
_SKEW_SECONDS = 10
"""How long a ticket is taken after its end. All of a stack have one clock; by default it would be five minutes."""
_SYSTEM_FOLDERS = ("/usr/sbin", "/usr/local/sbin", "/usr/lib/mit/sbin", "/opt/homebrew/opt/krb5/sbin")


def kerberos_file(settings: Settings) -> Path:
    """Returns the ``krb5.conf`` of the stack's servers and clients."""
    return settings.conf_folder / "krb5.conf"


def kerberos_option(settings: Settings) -> str:
    """Returns the option by which a JVM finds the stack's KDC."""
    return f"-Djava.security.krb5.conf={kerberos_file(settings)}"


def server_principal() -> str:
    """Returns the principal of all servers of Accumulo."""
    return f"{SERVICE}/{HOST}@{REALM}"


def hdfs_principal() -> str:
    """Returns the principal of the NameNode and the DataNodes."""
    return f"hdfs/{HOST}@{REALM}"


def hdfs_keytab(settings: Settings) -> Path:
    """Returns the file with the key of HDFS's servers."""
    return settings.secret_folder / "hdfs.keytab"


def web_principal() -> str:
    """Returns the principal of the web pages of HDFS's servers."""
    return f"HTTP/{HOST}@{REALM}"


def web_keytab(settings: Settings) -> Path:
    """Returns the file with the key of the web pages of HDFS's servers."""
    return settings.secret_folder / "hdfs-web.keytab"


def server_keytab(settings: Settings) -> Path:
    """Returns the file with the key of the servers' principal."""
    return settings.secret_folder / "accumulo.keytab"


def kdc_command(settings: Settings) -> tuple[str, ...]:
    """Returns the command line of the KDC. Raises ``StackError`` if it is not installed."""
    return (*with_files(settings), find_program("krb5kdc"), "-n", "-r", REALM)


def find_program(name: str) -> str:
    """Returns the path of one of MIT Kerberos's programs. Raises ``StackError`` if it is not installed."""
    path = os.pathsep.join((os.environ.get("PATH", ""), *_SYSTEM_FOLDERS))
    if found := shutil.which(name, path=path):
        return found
    raise StackError(
        f"Kerberos needs MIT's {name}, which is not installed: install {_PROGRAMS[name]} (Debian's name); "
        "the stack uses its programs alone, so a service that the package starts may be stopped"
    )


def write_kerberos_files(settings: Settings, port: int) -> None:
    """Writes the configuration of the KDC, which listens at ``port``, and of all that talk to it."""
    folder = kdc_folder(settings)
    make_private_folder(folder)
    write_private(
        kerberos_file(settings),
        f"""[libdefaults]
 default_realm = {REALM}
 dns_lookup_realm = false
 dns_lookup_kdc = false
 dns_canonicalize_hostname = false
 rdns = false
 udp_preference_limit = 1
 ticket_lifetime = 24h
 renew_lifetime = 7d
 forwardable = true
 clockskew = {_SKEW_SECONDS}
[realms]
 {REALM} = {{
  kdc = 127.0.0.1:{port}
 }}
[domain_realm]
 {HOST} = {REALM}
""",
    )
    write_private(
        _kdc_file(settings),
        f"""[kdcdefaults]
 kdc_listen = ""
 kdc_tcp_listen = 127.0.0.1:{port}
[realms]
 {REALM} = {{
  database_name = {folder}/principal
  key_stash_file = {folder}/stash
  acl_file = {folder}/acl
  max_life = 24h
  max_renewable_life = 7d
  default_principal_flags = +preauth
  supported_enctypes = aes256-cts-hmac-sha1-96:normal aes128-cts-hmac-sha1-96:normal
 }}
[logging]
 kdc = FILE:{settings.home}/log/kdc.log
""",
    )


def list_keytabs(settings: Settings) -> dict[str, Path]:
    """Returns the keytab of each principal."""
    users = {settings.find_principal(role): settings.keytab_file(role) for role in ("ingest", "query")}
    servers = {
        server_principal(): server_keytab(settings),
        hdfs_principal(): hdfs_keytab(settings),
        web_principal(): web_keytab(settings),
    }
    return servers | {user: path for user, path in users.items() if path}


def with_files(settings: Settings) -> tuple[str, ...]:
    """Returns the beginning of a command that reads the stack's own configuration."""
    return ("env", f"KRB5_CONFIG={kerberos_file(settings)}", f"KRB5_KDC_PROFILE={_kdc_file(settings)}")


def kdc_folder(settings: Settings) -> Path:
    return settings.home / "data" / "kdc"


def _kdc_file(settings: Settings) -> Path:
    return settings.conf_folder / "kdc.conf"
