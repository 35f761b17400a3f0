"""The programs of a network of Windows workstations: paths, parents, users, and the forms of their command lines."""

from __future__ import annotations

from dataclasses import dataclass

_SYSTEM = "C:\\Windows\\System32\\"
_BROWSER = "C:\\Program Files\\Northwind\\Browser\\Application\\browser.exe"
_OFFICE = "C:\\Program Files\\Microsoft Office\\root\\Office16\\"
_SHELL = f"{_SYSTEM}WindowsPowerShell\\v1.0\\powershell.exe"
_SERVICES, _EXPLORER, _COMMAND = f"{_SYSTEM}services.exe", "C:\\Windows\\explorer.exe", f"{_SYSTEM}cmd.exe"


@dataclass(frozen=True)
class Program:
    """A program: its path, its name when it was built, what starts it, and how often (``weight``).

    ``lines`` are what follows the path in its command lines. ``{id}`` stands for hexadecimal digits, ``{number}``
    for a number, ``{user}`` for a person's name, ``{word}`` for a word, ``{host}`` for a host and ``{code}`` for
    Base64.
    """

    image: str
    original_name: str
    parents: tuple[str, ...]
    weight: int
    lines: tuple[str, ...]

    @property
    def name(self) -> str:
        """The file name of the program."""
        return self.image.rsplit("\\", 1)[1]


PROGRAMS = (
    Program(f"{_SYSTEM}svchost.exe", "svchost.exe", (_SERVICES,), 20, (
        " -k netsvcs -p -s Schedule", " -k LocalService -p -s {word}", " -k UnistackSvcGroup -s {word}_{id}",
    )),
    Program(_BROWSER, "browser.exe", (_BROWSER, _EXPLORER), 24, (
        " --type=renderer --field-trial-handle={number},i,{number},{number} --lang=en-US --client-id={id} /prefetch:1",
        " --type=utility --service={word}.mojom.{word} --mojo-handle={number} --seed={id} /prefetch:8",
        " --single-argument https://{word}.example/{word}/{id}?session={number}",
    )),
    Program(f"{_SYSTEM}conhost.exe", "CONHOST.EXE", (_COMMAND, _SHELL), 12, (" 0xffffffff -ForceV1", " 0x{id}")),
    Program(_COMMAND, "Cmd.Exe", (_EXPLORER, _SERVICES, f"{_OFFICE}WINWORD.EXE"), 10, (
        ' /c "C:\\ProgramData\\{word}\\{word}.bat" {number}', " /d /c {word}.cmd --port {number} --token {id}",
        " /c echo {word} > C:\\Users\\{user}\\AppData\\Local\\Temp\\{id}.tmp", " /c dir \\\\{host}\\{word}$ /s /b",
    )),
    Program(_SHELL, "PowerShell.EXE", (_COMMAND, _EXPLORER, f"{_SYSTEM}wsmprovhost.exe"), 7, (
        " -NoProfile -ExecutionPolicy Bypass -File C:\\Scripts\\{word}.ps1 -Id {number}",
        " -NonInteractive -Command Get-{word} -ComputerName {host} | Select-Object -First {number}",
        " -NoLogo -EncodedCommand {code}",
    )),
    Program(f"{_SYSTEM}rundll32.exe", "RUNDLL32.EXE", (_EXPLORER, f"{_SYSTEM}svchost.exe"), 4, (
        " C:\\Windows\\system32\\{word}.dll,{word}Entry {number}", " shell32.dll,Control_RunDLL {word}.cpl,,{number}",
    )),
    Program(f"{_SYSTEM}schtasks.exe", "schtasks.exe", (_COMMAND, _SHELL), 2, (
        ' /query /fo LIST /tn "\\{word}\\{word}"', ' /create /tn {word}{number} /sc daily /tr "C:\\Tools\\{word}.exe"',
    )),
    Program(f"{_SYSTEM}net.exe", "net.exe", (_COMMAND,), 2, (" use \\\\{host}\\{word}", " user {user} /domain")),
    Program(f"{_SYSTEM}reg.exe", "reg.exe", (_COMMAND, _SHELL), 2, (
        " query HKLM\\Software\\{word}\\{word} /v {word}", " add HKCU\\Software\\{word} /v {word} /d {number} /f",
    )),
    Program(f"{_SYSTEM}msiexec.exe", "msiexec.exe", (_SERVICES,), 2, (
        " /V", " /i C:\\Windows\\Installer\\{id}.msi /qn",
    )),
    Program(f"{_SYSTEM}wbem\\WMIC.exe", "wmic.exe", (_COMMAND,), 1, (" /node:{host} process get {word},ProcessId",)),
    Program(f"{_OFFICE}WINWORD.EXE", "WinWord.exe", (_EXPLORER,), 4, (
        ' /n "C:\\Users\\{user}\\Documents\\{word} {word} {number}.docx" /o ""',
    )),
    Program(f"{_OFFICE}OUTLOOK.EXE", "Outlook.exe", (_EXPLORER,), 3, (" /eml C:\\Users\\{user}\\Downloads\\{id}.eml",)),
    Program("C:\\Program Files\\Git\\cmd\\git.exe", "git.exe", (_BROWSER, _COMMAND), 4, (
        " -c core.quotepath=false diff --stat {id}..{id} -- src/{word}/{word}.py",
        " fetch --depth {number} origin {word}",
    )),
    Program("C:\\Program Files\\Fabrikam\\Agent\\agent.exe", "agent.exe", (_SERVICES,), 5, (
        " --collect {word} --interval {number} --out C:\\ProgramData\\Fabrikam\\{id}.json", " --heartbeat {id}",
    )),
)  # fmt: skip
WORDS = [
    "account",
    "archive",
    "backup",
    "billing",
    "branch",
    "cache",
    "calendar",
    "catalog",
    "client",
    "cluster",
    "config",
    "console",
    "contract",
    "counter",
    "data",
    "debug",
    "delivery",
    "deploy",
    "design",
    "device",
    "drive",
    "driver",
    "export",
    "finance",
    "folder",
    "gateway",
    "group",
    "helper",
    "history",
    "import",
    "index",
    "install",
    "inventory",
    "invoice",
    "journal",
    "kernel",
    "ledger",
    "library",
    "license",
    "logger",
    "mailbox",
    "manager",
    "market",
    "metrics",
    "module",
    "monitor",
    "network",
    "notes",
    "office",
    "order",
    "package",
    "payment",
    "planner",
    "policy",
    "printer",
    "process",
    "profile",
    "project",
    "proxy",
    "queue",
    "record",
    "region",
    "release",
    "report",
    "router",
    "sales",
    "schedule",
    "script",
    "search",
    "security",
    "server",
    "service",
    "session",
    "setup",
    "storage",
    "support",
    "switch",
    "sync",
    "system",
    "target",
    "team",
    "template",
    "test",
    "ticket",
    "token",
    "trace",
    "transfer",
    "update",
    "user",
    "vault",
    "vendor",
    "version",
    "viewer",
    "volume",
    "worker",
]
USERS = [
    "ada",
    "alan",
    "barbara",
    "claude",
    "dennis",
    "donald",
    "edsger",
    "frances",
    "grace",
    "hedy",
    "jean",
    "john",
    "katherine",
    "ken",
    "linus",
    "margaret",
]
