"""Compares Maven's artifacts with the checksums in store/java/artifacts.sha256.

``check REPOSITORY [JARS…]`` exits with 1 if a file of a Maven repository, or of folders of jars, is not the one that
was recorded. ``record REPOSITORY`` writes the checksums of all artifacts in a repository; `make lock` calls it.

Maven itself compares what it fetches with a checksum from the same place, which says nothing about that place. It knows
checksums of one's own from 3.9 on only, and Debian 12 has 3.8.
"""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path

RECORD = Path(__file__).parents[1] / "store/java/artifacts.sha256"
SUFFIXES = (".jar", ".pom", ".tar.gz")
OWN = "watchfloor-accumulo-"


def main(arguments: list[str]) -> int:
    """Runs ``check`` or ``record``; returns the exit status."""
    if arguments[:1] == ["record"] and len(arguments) == 2:
        return record_artifacts(Path(arguments[1]))
    if arguments[:1] == ["check"] and len(arguments) >= 2:
        return check_artifacts(*map(Path, arguments[1:]))
    print(__doc__, file=sys.stderr)
    return 2


def record_artifacts(repository: Path) -> int:
    """Writes the checksums of all artifacts in a repository, sorted by path."""
    files = sorted(str(path.relative_to(repository)) for path in repository.rglob("*") if path.name.endswith(SUFFIXES))
    RECORD.write_text("".join(f"{hash_file(repository / name)}  {name}\n" for name in files))
    return 0


def check_artifacts(repository: Path, *folders: Path) -> int:
    """Returns 1, and prints which files differ, unless all recorded files of the repository are as they were recorded.

    A file that the repository lacks is not missed. In ``folders`` every jar but our own must be a recorded one.
    """
    recorded = {name: digest for digest, name in (line.split("  ", 1) for line in RECORD.read_text().splitlines())}
    wrong = [
        repository / name
        for name, digest in recorded.items()
        if (repository / name).is_file() and hash_file(repository / name) != digest
    ]
    known = set(recorded.values())
    jars = [jar for folder in folders for jar in sorted(folder.glob("*.jar")) if not jar.name.startswith(OWN)]
    wrong += [jar for jar in jars if hash_file(jar) not in known]
    for path in wrong:
        print(f"{path} is not the artifact that store/java/artifacts.sha256 records: remove it", file=sys.stderr)
    return 1 if wrong else 0


def hash_file(path: Path) -> str:
    """Returns the SHA-256 of a file in hex."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
