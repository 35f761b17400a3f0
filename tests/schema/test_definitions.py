"""The curated source definitions are valid, and definitions that break their schema are refused.

In `make test`: it needs no servers.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from watchfloor.schema.definition import builtin_definitions, parse_definition
from watchfloor.schema.errors import DefinitionError
from watchfloor.schema.field import FieldType

CURATED = builtin_definitions()
ZEEK_LOGS = (
    "analyzer broker capture_loss cluster config conn dce_rpc dhcp dnp3 dns dpd files ftp http intel irc kerberos "
    "known_certs known_devices known_hosts known_modbus known_services ldap ldap_search loaded_scripts modbus "
    "modbus_register_change mqtt_connect mqtt_publish mqtt_subscribe mysql notice ntlm ntp ocsp packet_filter pe "
    "postgresql print quic radius rdp redis reporter rfb signatures sip smb_cmd smb_files smb_mapping smtp snmp socks "
    "software ssh ssl stats syslog telemetry telemetry_histogram traceroute tunnel unknown_protocols websocket weird "
    "weird_stats x509"
)
EVE_TYPES = (
    "alert anomaly arp bittorrent_dht dcerpc dhcp dnp3 dns drop fileinfo flow ftp ftp_data http http2 ike ikev2 krb5 "
    "ldap mdns modbus mqtt netflow nfs pgsql pop3 quic rdp rfb sip smb smtp snmp ssh stats tftp tls websocket"
)


TEXT_SOURCES = """
web.vhost web.timed
linux.auditd
panos.traffic panos.threat checkpoint.firewall sonicwall.firewall leef.events snort.fast
aws.vpcflow aws.elb aws.alb
exchange.tracking microsoft.dhcp microsoft.dns kea.dhcp unbound.log freeradius.log openvpn.log
syslog.asa syslog.filterlog syslog.sendmail syslog.unbound syslog.kea syslog.radius syslog.snort
"""


def test_what_ships() -> None:
    assert set(CURATED) == {
        *(f"zeek.{log}" for log in ZEEK_LOGS.split()),
        *("web.access", "apache.error", "nginx.error", "squid.access", "bluecoat.access"),
        *TEXT_SOURCES.split(),
        *("iis.access", "cloudfront.access", "bluecoat.proxysg"),
        *("netflow.nfdump", "netflow.argus", "fortinet.fortigate", "bind.query", "cef.events"),
        *(f"syslog.{program}" for program in ("dhcpd", "named", "dnsmasq", "haproxy", "openvpn")),
        *(
            f"syslog.{program}"
            for program in ("messages", "sshd", "sudo", "su", "cron", "kernel", "postfix", "dovecot")
        ),
        *("aws.cloudtrail", "aws.guardduty", "gcp.audit", "kubernetes.audit", "azure.nsgflow"),
        *("okta.system", "o365.management", "entra.signins"),
        *("wazuh.alerts", "osquery.results", "systemd.journal", "snort.json", "sigma.alerts"),
        *("laurel.audit", "caddy.access", "mongodb.log"),
        *(f"windows.{log}" for log in ("security", "sysmon", "powershell", "defender", "system", "application")),
        *("text.messages", "json.messages", "json.requests", "asterisk.security", "pterodactyl.wings", "lanl.auth"),
        *("proxy.events", "dns.events", "netflow.events", "auth.events"),
        *(f"suricata.{kind}" for kind in EVE_TYPES.split()),
    }


def test_the_page_of_sources_names_each() -> None:
    page = (Path(__file__).parents[2] / "docs/using/sources.md").read_text("utf-8")
    named = {*re.findall(r"`([a-z0-9_]+\.[a-z0-9_]+)`", page)}
    assert {name for name in CURATED if not name.startswith(("zeek.", "suricata."))} <= named


@pytest.mark.parametrize("name", sorted(CURATED))
def test_each_is_sound(name: str) -> None:
    source = CURATED[name]
    assert source.name == name
    assert parse_definition(source.to_json()) == source
    assert len(source.indexed_fields) <= 9
    assert source.fields_by_name[source.time_field].type is FieldType.TIME
    if source.unknown_fields == "extra":
        assert source.fields[-1].name == "extra"


@pytest.mark.parametrize(
    ("name", "spec"),
    [
        (
            "proxy.events",
            "ts:time src_ip:ip* src_port:port user:string* dest_ip:ip* dest_port:port method:string domain:string* "
            "path:string query:string status:int* bytes_in:int bytes_out:int duration_ms:float user_agent:string "
            "referrer:string content_type:string* action:string* category:string* cached:bool",
        ),
        (
            "dns.events",
            "ts:time client_ip:ip* server_ip:ip* client_port:port query_id:int proto:string query:string* "
            "qtype:string* rcode:string* answers:list* ttls:list answer_count:int request_bytes:int "
            "response_bytes:int cached:bool duration_ms:float",
        ),
        (
            "netflow.events",
            "ts:time exporter:ip* input_if:int output_if:int src_ip:ip* src_as:int src_port:port dst_ip:ip* "
            "dst_port:port* dst_as:int* proto:string* application:string* packets_out:int bytes_out:int "
            "packets_in:int bytes_in:int duration_ms:int tcp_flags:string* tos:int",
        ),
        (
            "auth.events",
            "ts:time user:string* domain:string account:string* host:string* logon_type:string* package:string "
            "process:string* elevated:bool mfa:bool src_ip:ip* src_port:port result:string* reason:string* "
            "session:string",
        ),
    ],
)
def test_generated_events_have_exactly_these_fields(name: str, spec: str) -> None:
    source = CURATED[name]
    assert " ".join(f"{f.name}:{f.type.value}{'*' * f.is_indexed}" for f in source.fields) == spec
    assert source.shards == 4 and source.time_format == "iso8601"


def test_zeek_fields_keep_the_names_that_analysts_know() -> None:
    for name, fields in {
        "zeek.conn": "ts uid id.orig_h id.resp_p service conn_state tunnel_parents orig_l2_addr inner_vlan ip_proto",
        "zeek.dns": "query qtype_name rcode_name AA answers TTLs rejected rtt opcode",
        "zeek.http": "method host uri user_agent status_code resp_mime_types cookie_vars origin proxied",
    }.items():
        assert set(fields.split()) <= set(CURATED[name].fields_by_name)


def definition(**changes: Any) -> dict[str, Any]:
    return {
        "name": "lab.door",
        "parser": {"format": "json"},
        "timestamp": {"field": "ts", "format": "iso8601"},
        "fields": [{"name": "ts", "type": "time"}, {"name": "who", "type": "string"}],
        **changes,
    }


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"name": "Door"}, r"\.name"),
        ({"name": None}, r"\.name"),
        ({"colour": "red"}, "colour"),
        ({"parser": {"format": "no format"}}, r"\.parser\.format"),
        ({"fields": []}, r"\.fields"),
        ({"fields": [{"name": "ts", "type": "time"}, {"name": "n", "type": "number"}]}, r"\.fields\[1\]\.type"),
        ({"fields": [{"name": "ts", "type": "time"}] * 2}, "'ts' is defined twice"),
        ({"fields": [{"name": "ts", "type": "int"}]}, "must be of type time"),
        ({"timestamp": {"field": "when"}}, "'when' is not among the fields"),
        ({"timestamp": {"field": "ts", "format": "fortnight"}}, r"\.timestamp\.format"),
        ({"visibility": "a&b|c"}, r"\.visibility"),
        ({"unknown_fields": "extra"}, "needs a string field named 'extra'"),
        ({"shards": 0}, r"\.shards"),
    ],
)
def test_a_definition_that_breaks_the_schema_is_refused_with_its_place(changes: dict[str, Any], message: str) -> None:
    broken = {key: value for key, value in definition(**changes).items() if value is not None}
    if changes == {"name": None}:
        message = "'name' is a required property"
    with pytest.raises(DefinitionError, match=message):
        parse_definition(broken, "door.json")


def test_a_definition_that_is_no_json_is_refused() -> None:
    with pytest.raises(DefinitionError, match=r"door\.json: not JSON"):
        parse_definition('{"name": ', "door.json")


def test_a_good_definition_is_taken() -> None:
    source = parse_definition(json.dumps(definition()), "door.json")
    assert [f.name for f in source.fields] == ["ts", "who"]


def test_a_definition_of_thousands_of_fields_is_refused_in_few_words() -> None:
    fields = [{"name": "ts", "type": "time"}, *({"name": f"field_{n}", "type": "string"} for n in range(2500))]
    told = {"name": "lab.wide", "parser": {"format": "json"}, "timestamp": {"field": "ts"}, "fields": fields}
    with pytest.raises(DefinitionError) as refused:
        parse_definition(told, "wide.json")
    said = str(refused.value)
    assert said.startswith("wide.json.fields: [{'name': 'ts'") and said.endswith("is too long") and len(said) < 300
