"""Archives of classes that are loaded and verified already: their folder, and the JVM options that use them.

An archive (Java's AppCDS) halves the work of starting a JVM. There is one for the stack's servers and one for clients;
``store/stack/make_archive.py`` makes them. A JVM uses an archive only if its class path begins with the class path for
which the archive was made. So that class path has no folder; the folder of configuration and our own jar, which change,
come after it. Without an archive a JVM starts more slowly; nothing else differs.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

from .core_site import CORE_SITE

SERVER_ARCHIVE, CLIENT_ARCHIVE = "servers.jsa", "clients.jsa"


def archive_folder(folder: Path, java: Path, jars: list[Path]) -> Path:
    """Returns the folder of the archives for one Java and the ``jars`` of ``folder``; it need not exist.

    Another Java, a jar that was built again, or another ``CORE_SITE`` gives another folder.
    """
    release = java / "release"
    parts = [str(java), release.read_text() if release.exists() else ""]
    parts += [f"{jar} {jar.stat().st_size} {jar.stat().st_mtime_ns}" for jar in jars]
    parts.append(CORE_SITE)
    return folder.parent / "cds" / hashlib.blake2b("\n".join(parts).encode(), digest_size=8).hexdigest()


def archive_options(archive: Path) -> list[str]:
    """Returns the JVM options that use an archive; none if it does not exist."""
    return [f"-XX:SharedArchiveFile={archive}", "-Xshare:auto"] if archive.exists() else []
