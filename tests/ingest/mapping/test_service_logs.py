"""Short real logs of services become events whose values stand in their lines, without a source being named.

In `make test`: it needs no servers.
"""

from __future__ import annotations

from typing import Any

import pytest
from parsing_support import log_lines, parse_file, shared_log

LOGS: dict[str, tuple[str, tuple[str, ...]]] = {
    "auditd-postexploit-exec-from-net": ("linux.auditd", ("type", "comm", "exe", "pid", "serial")),
    "auditd-postexploit-rm": ("linux.auditd", ("type", "comm", "exe", "pid", "serial")),
    "auditd-suid-crash": ("linux.auditd", ("type", "serial")),
    "palo-alto-threat": ("panos.threat", ("src", "dst", "sport", "dport", "rule", "action", "threatid", "device_name")),
    "suricata-logs-fastlog": ("snort.fast", ("src_ip", "dst_ip", "sid", "msg", "classification")),
    "pterodactyl-wings-bf": ("pterodactyl.wings", ("source_ip", "source_port", "user", "subsystem", "message")),
    "pf-logs": ("syslog.filterlog", ("src_ip", "dst_ip", "src_port", "dst_port", "action", "interface", "length")),
    "pfsense-rfc5424-filterlog": ("syslog.filterlog", ("src_ip", "dst_ip", "dst_port", "action", "tracker")),
    "wireguard-logs": ("syslog.kernel", ("wg_interface", "wg_peer_ip", "wg_peer_port")),
    "iptables-scan-multi-port": ("syslog.kernel", ("src_ip", "dst_ip", "dst_port")),
    "nginx-cve-2021-41773": ("web.vhost", ("vhost", "client", "path", "status")),
    "CVE-2024-0012": ("web.timed", ("client", "path", "status")),
    "bind9-syslog": ("syslog.named", ("client_ip",)),
    "haproxy-nextcloud-whitelist": ("syslog.haproxy", ("client_ip", "status", "path")),
}


@pytest.mark.parametrize("name", LOGS)
def test_a_real_log_of_a_service(name: str) -> None:
    source, fields = LOGS[name]
    path = shared_log(f"services/{name}.log")
    loaded = parse_file(path)
    rows: dict[int, dict[str, Any]] = {row["(offset)"]: row for row in loaded.rows()}
    lines = list(log_lines(path))
    assert not loaded.faults() and [*rows] == [offset for offset, _ in lines]
    assert {source.name for source, _ in loaded.events} == {source}
    for offset, line in lines:
        for field in fields:
            assert str(rows[offset][field]).encode() in line, field
