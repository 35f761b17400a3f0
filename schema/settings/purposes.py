"""The settings by who reads them, and what two processes have in common that would do the same work in the same way."""

from __future__ import annotations

import dataclasses
import json
import sys
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .settings import Settings

OF_SERVERS = frozenset(
    {
        *("small", "tservers", "tserver_heap", "tserver_maps", "manager_heap", "gc_heap", "zookeeper_heap"),
        *("kafka_heap", "durability", "zookeeper_timeout", "up_seconds", "down_seconds", "standing_workers"),
        "calibration",
    }
)
"""Settings of the servers of a local stack."""
OF_INGEST = frozenset(
    {
        *("disk_reserve", "jvm_heap", "metrics", "sink_memory_mb", "sink_threads", "sink_latency_ms", "ingest_mode"),
        *("shards", "erasure_coding", "partitions", "topic", "group", "item_bytes", "max_line_bytes", "chunk_bytes"),
    }
)
"""Settings of what writes to the store."""
OF_SERVICE = frozenset(
    {
        *("deadline_seconds", "watch_seconds", "max_answer_rows", "max_answer_mb", "max_queries"),
        *("max_queries_per_token", "query_wait_seconds", "max_jobs", "max_jobs_per_token", "job_memory_mb"),
        *("job_keep_seconds", "stalled_reader_seconds", "host", "port", "tls_certificate", "tls_key"),
    }
)
"""Settings of the REST service for its clients."""


def describe_common(settings: Settings, unrelated: frozenset[str]) -> dict[str, str]:
    """Returns the code that runs, and all settings but those that are ``unrelated`` to the work."""
    fields = (field.name for field in dataclasses.fields(settings) if field.name not in unrelated)
    code = {"(code)": str(Path(__file__).parents[2]), "(python)": sys.version}
    return code | {name: str(getattr(settings, name)) for name in fields}


def digest_ingest(settings: Settings) -> str:
    """Returns a digest that two processes share which write the same events in the same way."""
    common = describe_common(settings, OF_SERVERS | OF_SERVICE)
    return blake2b(json.dumps(common, sort_keys=True).encode(), digest_size=16).hexdigest()
