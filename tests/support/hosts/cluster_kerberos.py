"""The KDC of a cluster of hosts, with a principal for each server of HDFS and of Accumulo on each host."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from watchfloor.store.runtime.private_files import UMASK, make_private_folder, write_private
from watchfloor.store.stack.security.kerberos import find_program

REALM = "WATCHFLOOR.TEST"
INGEST_USER = "root"
"""The user of Accumulo that ingests, who opens files in HDFS as the principal of the same name."""
SERVICES = ("hdfs", "HTTP", "accumulo")
_PORT = 88


class ClusterKerberos:
    """The files of the KDC below one folder. ``head`` is the address of the host on which it runs."""

    def __init__(self, folder: Path, head: str) -> None:
        self._folder, self._head = folder, head

    @property
    def config(self) -> Path:
        """The ``krb5.conf`` of all hosts."""
        return self._folder / "conf" / "krb5.conf"

    def keytab(self, name: str) -> Path:
        """Returns the file with the keys of one of ``SERVICES`` on all hosts, or of ``ingest``."""
        return self._folder / "secret" / f"{name}.keytab"

    def command(self) -> list[str]:
        """Returns the command line of the KDC."""
        return ["env", *(f"{name}={value}" for name, value in self._files().items()), find_program("krb5kdc"), "-n"]

    def write(self, hosts: tuple[str, ...]) -> None:
        """Writes the configuration, and makes the principals with their keytabs."""
        data = self._folder / "data/kdc"
        make_private_folder(data)
        write_private(self.config, self._client_config(hosts))
        write_private(self._profile, self._server_config(data))
        password = (self._folder / "secret/kdc").read_text()
        self._run("kdb5_util", f"{password}\n{password}\n", "create", "-s", "-r", REALM)
        names = {service: [f"{service}/{host}@{REALM}" for host in hosts] for service in SERVICES}
        names["ingest"] = [f"{INGEST_USER}@{REALM}"]
        queries = [f"addprinc -randkey {name}\n" for group in names.values() for name in group]
        queries += [f"ktadd -k {self.keytab(name)} {' '.join(group)}\n" for name, group in names.items()]
        self._run("kadmin.local", "".join(queries), "-r", REALM)
        assert all(self.keytab(name).exists() for name in names), "a keytab is missing"

    @property
    def _profile(self) -> Path:
        return self._folder / "conf" / "kdc.conf"

    def _files(self) -> dict[str, str]:
        return {"KRB5_CONFIG": str(self.config), "KRB5_KDC_PROFILE": str(self._profile)}

    def _run(self, program: str, text: str, *arguments: str) -> None:
        command = [find_program(program), *arguments]
        environment = {**os.environ, **self._files()}
        done = subprocess.run(command, input=text, capture_output=True, text=True, env=environment, umask=UMASK)
        assert done.returncode == 0, f"{program}: {done.stdout}{done.stderr}"

    def _client_config(self, hosts: tuple[str, ...]) -> str:
        domains = "".join(f" {host} = {REALM}\n" for host in hosts)
        return (
            f"[libdefaults]\n default_realm = {REALM}\n dns_lookup_realm = false\n dns_lookup_kdc = false\n"
            " dns_canonicalize_hostname = false\n rdns = false\n udp_preference_limit = 1\n ticket_lifetime = 24h\n"
            f"[realms]\n {REALM} = {{\n  kdc = {self._head}:{_PORT}\n }}\n[domain_realm]\n{domains}"
        )

    def _server_config(self, data: Path) -> str:
        return (
            f'[kdcdefaults]\n kdc_listen = ""\n kdc_tcp_listen = {self._head}:{_PORT}\n'
            f"[realms]\n {REALM} = {{\n  database_name = {data}/principal\n  key_stash_file = {data}/stash\n"
            f"  acl_file = {data}/acl\n  max_life = 24h\n"
            "  supported_enctypes = aes256-cts-hmac-sha1-96:normal aes128-cts-hmac-sha1-96:normal\n }\n"
            f"[logging]\n kdc = FILE:{self._folder}/log/kdc.log\n"
        )
