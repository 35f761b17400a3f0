"""Makes the principals of a stack's KDC."""

from __future__ import annotations

from watchfloor.schema.errors import StackError
from watchfloor.schema.files.paths import show_path
from watchfloor.schema.settings.settings import REALM, Settings

from .security.kerberos import find_program, kdc_folder, list_keytabs, with_files
from .servers.command import run_command


def make_principals(settings: Settings, deadline: float) -> None:
    """Makes the realm's database and the principals with their keytabs, as far as they are missing.

    Raises ``StackError`` if ``deadline`` (monotonic seconds) passes.
    """
    if not (kdc_folder(settings) / "stash").exists():
        # The password is read from standard input twice: arguments can be read by every user.
        script = 'cat "$1" "$1" | "$2" create -s -r "$3"'
        password = settings.secret_folder / "kdc.password"
        shell = ("sh", "-c", script, "kdc-create", str(password), find_program("kdb5_util"), REALM)
        run_command(settings, "kdc-create", (*with_files(settings), *shell), deadline)
    for principal, keytab in list_keytabs(settings).items():
        if not keytab.exists():
            unfinished = keytab.with_suffix(".new")
            unfinished.unlink(missing_ok=True)
            _administer(settings, f"addprinc -randkey {principal}", deadline)
            _administer(settings, f"ktadd -k {unfinished} {principal}", deadline)
            if not unfinished.exists():
                log = show_path(settings.home / "log" / "kdc-admin.out")
                raise StackError(f"the KDC did not make the keytab of {principal}: see {log}")
            unfinished.rename(keytab)


def _administer(settings: Settings, query: str, deadline: float) -> None:
    command = (*with_files(settings), find_program("kadmin.local"), "-r", REALM, "-q", query)
    run_command(settings, "kdc-admin", command, deadline)
