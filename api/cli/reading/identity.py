"""The common identity of a command and a service that answers as the command itself would."""

from __future__ import annotations

import dataclasses
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from watchfloor.schema.settings.settings import Settings

UNRELATED = frozenset(
    {
        *(
            "small",
            "tservers",
            "tserver_heap",
            "tserver_maps",
            "manager_heap",
            "gc_heap",
            "zookeeper_heap",
            "kafka_heap",
        ),
        *("durability", "zookeeper_timeout", "up_seconds", "down_seconds", "disk_reserve", "jvm_heap", "metrics"),
        *("sink_memory_mb", "sink_threads", "sink_latency_ms", "ingest_mode", "shards", "erasure_coding"),
        *("partitions", "topic", "group", "item_bytes", "max_line_bytes", "chunk_bytes"),
        *("deadline_seconds", "watch_seconds", "max_answer_rows", "max_answer_mb", "max_queries"),
        *("max_queries_per_token", "query_wait_seconds", "max_jobs", "max_jobs_per_token", "job_memory_mb"),
        *("job_keep_seconds", "stalled_reader_seconds", "host", "port", "tls_certificate", "tls_key"),
    }
)
"""Settings that change no answer of a command: those of servers, of ingest, and of the service for its clients."""


def describe_identity(settings: Settings) -> dict[str, str]:
    """Returns the code that runs, and all settings that may change an answer."""
    fields = (field.name for field in dataclasses.fields(settings) if field.name not in UNRELATED)
    code = {"(code)": str(Path(__file__).parent), "(python)": sys.version}
    return code | {name: str(getattr(settings, name)) for name in fields}
