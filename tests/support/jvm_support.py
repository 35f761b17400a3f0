"""The JVM for tests that parse logs without a store."""

from __future__ import annotations

from watchfloor.schema.settings.load import load_settings
from watchfloor.store.bridge import jvm


def start_jvm() -> None:
    settings = load_settings()
    jvm.start_jvm(settings.jars, settings.jvm_heap)
