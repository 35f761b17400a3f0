"""Lines of each format, as products write them, with values that differ as those of a day do."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

_BEGIN = datetime(2026, 3, 5, 8, tzinfo=UTC)
_PATHS, _USERS, _HOSTS = 2_000, 300, 40


@dataclass(frozen=True)
class FormatSample:
    """Lines of a source. ``line`` is a template with the names of ``_draw_values``; ``header`` stands before them."""

    source: str
    line: str
    header: str = ""
    goal: float | None = None
    """Megabytes a processor second that the format should reach."""


SAMPLES: Mapping[str, FormatSample] = {
    "access log": FormatSample(
        "web.access",
        '{ip} - {user} [{clf}] "GET /{path} HTTP/1.1" 200 {count} "https://{host}.example/" "Mozilla/5.0 (X11; Linux)"',
    ),
    "delimited": FormatSample(
        "netflow.argus",
        "{slashed}.{micros:06},{seconds:.6f},tcp,{ip},{port},   ->,{peer},443,FSPA_FSPA,0,0,{few},{count},{count},"
        "{few},flow=Background",
        "StartTime,Dur,Proto,SrcAddr,Sport,Dir,DstAddr,Dport,State,sTos,dTos,TotPkts,TotBytes,SrcBytes,SrcPkts,Label\n",
        goal=60,
    ),
    "W3C extended": FormatSample(
        "iis.access",
        "{day} {clock} {peer} GET /{path} - 443 {user} {ip} Mozilla/5.0+(Windows+NT+10.0) - 200 0 0 {few}",
        "#Software: Microsoft Internet Information Services 10.0\n#Version: 1.0\n#Date: 2026-03-05 08:00:00\n"
        "#Fields: date time s-ip cs-method cs-uri-stem cs-uri-query s-port cs-username c-ip cs(User-Agent) cs(Referer) "
        "sc-status sc-substatus sc-win32-status time-taken\n",
        goal=60,
    ),
    "syslog with patterns": FormatSample(
        "syslog.sshd",
        "{iso} {host} sshd[{port}]: Failed password for {user} from {ip} port {port} ssh2",
        goal=15,
    ),
    "text by patterns": FormatSample(
        "nginx.error",
        '{slashed} [error] {few}#{few}: *{count} open() "/srv/www/{path}" failed (2: No such file or directory), '
        'client: {ip}, server: {host}.example, request: "GET /{path} HTTP/1.1", host: "{host}.example"',
        goal=15,
    ),
    "key=value": FormatSample(
        "fortinet.fortigate",
        'date={day} time={clock} devname="{host}" devid="FGT60E0000000000" logid="0000000013" type="traffic" '
        'subtype="forward" level="notice" vd="root" srcip={ip} srcport={port} srcintf="port12" dstip={peer} '
        'dstport=443 dstintf="port11" sessionid={count} proto=6 action="close" policyid=1 service="HTTPS" '
        "duration={few} sentbyte={count} rcvdbyte={count} sentpkt={few} rcvdpkt={few}",
        goal=25,
    ),
    "CEF": FormatSample(
        "cef.events",
        "CEF:0|Lab|Gate|1.0|100|connection allowed|5|rt={millis} src={ip} spt={port} dst={peer} dpt=443 suser={user} "
        "shost={host} act=allow out={count} msg=let through by rule {few}",
        goal=25,
    ),
    "LEEF": FormatSample(
        "leef.events",
        "LEEF:1.0|Lab|Gate|1.0|connection allowed|devTime={millis}\tsrc={ip}\tsrcPort={port}\tdst={peer}\tdstPort=443\t"
        "usrName={user}\tproto=6\tcat=allow\tsrcBytes={count}\tmsg=let through by rule {few}",
        goal=25,
    ),
    "pairs, SonicWall": FormatSample(
        "sonicwall.firewall",
        '<134>id=firewall sn=0017C5000001 time="{day} {clock} UTC" fw=203.0.113.1 pri=6 c=1024 m=537 msg="Connection '
        'Closed" app=49177 n={count} usr="{user}" src={ip}:{port}:X0:{host} dst={peer}:443:X1 proto=tcp/https '
        'sent={count} rcvd={count} spkt={few} rpkt={few} cdur={count} rule="{few} (LAN->WAN)" fw_action="NA"',
    ),
    "pairs, Check Point": FormatSample(
        "checkpoint.firewall",
        '<134>1 {iso} gate CheckPoint 4242 - [action:"Accept"; flags:"411908"; ifdir:"inbound"; ifname:"eth0"; '
        'origin:"192.0.2.1"; time:"{epoch}"; dst:"{peer}"; inzone:"Internal"; outzone:"External"; proto:"6"; '
        'rule_name:"allow web"; s_port:"{port}"; service:"443"; service_id:"https"; src:"{ip}"; user:"{user}"; '
        'product:"VPN-1 & FireWall-1"; bytes:"{count}"]',
    ),
    "Zeek, JSON": FormatSample(
        "zeek.conn",
        '{{"_path":"conn","ts":{epoch}.{micros:06},"uid":"C{uid}","id.orig_h":"{ip}","id.orig_p":{port},"id.resp_h":'
        '"{peer}","id.resp_p":443,"proto":"tcp","service":"ssl","duration":{seconds:.6f},"orig_bytes":{count},'
        '"resp_bytes":{count},"conn_state":"SF","missed_bytes":0,"history":"ShADadFf","orig_pkts":{few},"resp_pkts":{few}}}',
    ),
    "Zeek, TSV": FormatSample(
        "zeek.conn",
        "{epoch}.{micros:06}\tC{uid}\t{ip}\t{port}\t{peer}\t443\ttcp\tssl\t{seconds:.6f}\t{count}\t{count}\tSF\tT\tF\t0\t"
        "ShADadFf\t{few}\t{count}\t{few}\t{count}\t(empty)",
        "#separator \\x09\n#set_separator\t,\n#empty_field\t(empty)\n#unset_field\t-\n#path\tconn\n"
        "#fields\tts\tuid\tid.orig_h\tid.orig_p\tid.resp_h\tid.resp_p\tproto\tservice\tduration\torig_bytes\tresp_bytes\t"
        "conn_state\tlocal_orig\tlocal_resp\tmissed_bytes\thistory\torig_pkts\torig_ip_bytes\tresp_pkts\tresp_ip_bytes\t"
        "tunnel_parents\n#types\ttime\tstring\taddr\tport\taddr\tport\tenum\tstring\tinterval\tcount\tcount\tstring\tbool\t"
        "bool\tcount\tstring\tcount\tcount\tcount\tcount\tset[string]\n",
    ),
    "Suricata EVE": FormatSample(
        "suricata.flow",
        '{{"timestamp":"{iso_micros}+0000","flow_id":{count},"in_iface":"eth0","event_type":"flow","src_ip":"{ip}",'
        '"src_port":{port},"dest_ip":"{peer}","dest_port":443,"proto":"TCP","app_proto":"tls","flow":{{"pkts_toserver":'
        '{few},"pkts_toclient":{few},"bytes_toserver":{count},"bytes_toclient":{count},"start":"{iso_micros}+0000","end":'
        '"{iso_micros}+0000","age":{few},"state":"closed","reason":"timeout","alerted":false}}}}',
    ),
    "JSON, by paths": FormatSample(
        "aws.cloudtrail",
        '{{"eventVersion":"1.09","userIdentity":{{"type":"IAMUser","principalId":"AIDALAB","arn":"arn:aws:iam::111122223333:user/'
        '{user}","accountId":"111122223333","accessKeyId":"AKIALAB","userName":"{user}"}},"eventTime":"{iso}","eventSource":'
        '"s3.amazonaws.com","eventName":"GetObject","awsRegion":"eu-central-1","sourceIPAddress":"{ip}","userAgent":"cli",'
        '"requestParameters":{{"bucketName":"{host}","key":"{path}"}},"responseElements":null,"requestID":"{uid}","eventID":'
        '"{uid}","readOnly":true,"resources":[{{"type":"AWS::S3::Object","ARN":"arn:aws:s3:::{host}/{path}"}}],"eventType":'
        '"AwsApiCall","managementEvent":false,"recipientAccountId":"111122223333","eventCategory":"Data"}}',
    ),
    "Windows, JSON": FormatSample(
        "windows.security",
        '{{"Event":{{"System":{{"Provider":{{"#attributes":{{"Name":"Microsoft-Windows-Security-Auditing"}}}},"EventID":4624,'
        '"Level":0,"Task":12544,"Keywords":"0x8020000000000000","TimeCreated":{{"#attributes":{{"SystemTime":"{iso_micros}Z"'
        '}}}},"EventRecordID":{count},"Channel":"Security","Computer":"{host}.corp.example"}},"EventData":{{'
        '"SubjectUserSid":"S-1-5-18","TargetUserName":"{user}","TargetDomainName":"CORP","LogonType":3,"IpAddress":"{ip}",'
        '"IpPort":"{port}","WorkstationName":"{host}","AuthenticationPackageName":"Negotiate"}}}}}}',
    ),
}


def write_lines(sample: FormatSample, size: int, seed: int) -> bytes:
    """Returns a file of about ``size`` bytes; the same seed gives the same bytes."""
    lines: list[str] = []
    written = 0
    for values in _draw_values(random.Random(seed)):
        lines.append(sample.line.format_map(values))
        written += len(lines[-1]) + 1
        if written >= size:
            break
    return (sample.header + "\n".join(lines) + "\n").encode()


def _draw_values(draw: random.Random) -> Iterator[dict[str, object]]:
    """Yields the values of lines, a few milliseconds after each other."""
    moment = _BEGIN
    while True:
        moment += timedelta(microseconds=draw.randrange(20_000))
        yield {
            "day": f"{moment:%Y-%m-%d}",
            "clock": f"{moment:%H:%M:%S}",
            "slashed": f"{moment:%Y/%m/%d %H:%M:%S}",
            "iso": f"{moment:%Y-%m-%dT%H:%M:%S}Z",
            "iso_micros": f"{moment:%Y-%m-%dT%H:%M:%S.%f}",
            "clf": f"{moment:%d/%b/%Y:%H:%M:%S} +0000",
            "epoch": int(moment.timestamp()),
            "millis": int(moment.timestamp() * 1000),
            "micros": moment.microsecond,
            "ip": f"10.{draw.randrange(4)}.{draw.randrange(16)}.{draw.randrange(256)}",
            "peer": f"198.51.100.{draw.randrange(256)}",
            "port": draw.randrange(1024, 65536),
            "user": f"user{draw.randrange(_USERS)}",
            "host": f"host{draw.randrange(_HOSTS)}",
            "path": f"page/{draw.randrange(_PATHS)}.html",
            "count": draw.randrange(1_000_000),
            "few": draw.randrange(1, 200),
            "seconds": draw.expovariate(0.1),
            "uid": f"{draw.getrandbits(80):020x}",
        }
