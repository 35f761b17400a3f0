"""One cluster of hosts for all tests of this folder in one process of pytest."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from cluster_bed import Bed
from host_network import NetworkRefusedError
from missing import require_kerberos


@pytest.fixture(scope="session")
def bed() -> Iterator[Bed]:
    """A cluster at work, with a source of known events. Tests skip where hosts cannot be built."""
    require_kerberos()
    folder = Path(tempfile.mkdtemp(prefix="watchfloor-test-"))
    made = Bed(folder)
    try:
        made.start()
        yield made
    except NetworkRefusedError as error:
        pytest.skip(f"no hosts as network namespaces: {error}")
    finally:
        made.close()
        if "WATCHFLOOR_KEEP_BED" not in os.environ:
            shutil.rmtree(folder, ignore_errors=True)
