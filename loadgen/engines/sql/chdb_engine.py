"""chDB (ClickHouse in the process), set up as its guides advise: a MergeTree by time, LowCardinality strings."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
from chdb import session

from watchfloor.loadgen.engines.limits import MEMORY_MB, THREADS
from watchfloor.schema.field import FieldType
from watchfloor.schema.source import Source

from .sql_engine import SqlEngine

_HIGH_CARDINALITY = ("path", "query", "session")
"""String fields with more than 10,000 values, for which LowCardinality is not advised."""
_BLOOM_FILTERED = ("src_ip", "user", "dest_ip", "dst_ip", "domain", "host")
"""Indexed fields of many values: they get Bloom filters, as ClickHouse's own log tables have."""
_TYPES = {
    FieldType.STRING: "LowCardinality(String)",
    FieldType.IP: "LowCardinality(String)",
    FieldType.PORT: "UInt16",
    FieldType.INT: "Int64",
    FieldType.FLOAT: "Float64",
    FieldType.BOOL: "Bool",
    FieldType.TIME: "DateTime64(6, 'UTC')",
}


class ChDbEngine(SqlEngine):
    """A database in a folder."""

    PATTERN_FUNCTION = "match"

    def __init__(self, folder: Path, source: Source) -> None:
        super().__init__(source)
        self._session = session.Session(str(folder))
        self._columns = ", ".join(
            f"{field.name} {'String' if field.name in _HIGH_CARDINALITY else _TYPES[field.type]}"
            for field in source.fields
        )
        filtered = [field.name for field in source.fields if field.is_indexed and field.name in _BLOOM_FILTERED]
        self._filters = ", ".join(f"INDEX {name}_seen {name} TYPE bloom_filter(0.001)" for name in filtered)
        for setting, value in (
            ("max_threads", THREADS),
            ("max_insert_threads", THREADS),
            ("max_memory_usage", MEMORY_MB << 20),
            ("date_time_input_format", "'best_effort'"),
            # This cache remembers which parts of a table hold no match. It is off, because the same questions are asked
            # repeatedly.
            ("use_query_condition_cache", 0),
        ):
            self._session.query(f"SET {setting} = {value}")
        self._session.query("CREATE DATABASE IF NOT EXISTS bench")
        self._session.query("USE bench")

    def recreate_table(self) -> None:
        self._session.query("DROP TABLE IF EXISTS events SYNC")
        self._session.query(
            f"CREATE TABLE events ({self._columns}, {self._filters}) ENGINE = MergeTree ORDER BY {self._time}"
        )

    def load_file(self, path: Path) -> None:
        self._session.query(f"INSERT INTO events SELECT * FROM file('{path}', JSONEachRow)")

    def load_list(self, path: Path) -> None:
        self._session.query("DROP TABLE IF EXISTS listed SYNC")
        self._session.query("CREATE TABLE listed (address String) ENGINE = Set")
        self._session.query(f"INSERT INTO listed SELECT * FROM file('{path}', LineAsString, 'address String')")

    def finish_merges(self) -> None:
        self._session.query("OPTIMIZE TABLE events FINAL")

    def measure_disk(self) -> int:
        return self.query_number(
            "SELECT sum(bytes_on_disk) FROM system.parts WHERE active AND database = 'bench' AND table = 'events'"
        )

    def quote_literal(self, text: str) -> str:
        """Quotes a string for ClickHouse, whose literals have backslash escapes."""
        return super().quote_literal(text.replace("\\", r"\\"))

    def run_sql(self, sql: str) -> pa.Table:
        return self._session.query(sql, "ArrowTable")

    def close(self) -> None:
        self._session.close()
