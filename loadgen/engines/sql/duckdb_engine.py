"""DuckDB, set up as its guides advise: types given, rows in order of time, no index, a checkpoint after the load."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pyarrow as pa

from watchfloor.loadgen.engines.limits import MEMORY_MB, THREADS
from watchfloor.schema.field import FieldType
from watchfloor.schema.source import Source

from .sql_engine import SqlEngine

_TYPES = {
    FieldType.STRING: "VARCHAR",
    FieldType.IP: "VARCHAR",  # DuckDB's type for addresses is an extension that is not in the package
    FieldType.PORT: "USMALLINT",
    FieldType.INT: "BIGINT",
    FieldType.FLOAT: "DOUBLE",
    FieldType.BOOL: "BOOLEAN",
    FieldType.TIME: "TIMESTAMP",
}


class DuckDbEngine(SqlEngine):
    """A database in a file."""

    PATTERN_FUNCTION = "regexp_matches"

    def __init__(self, folder: Path, source: Source) -> None:
        super().__init__(source)
        self._file = folder / "events.duckdb"
        self._columns = ", ".join(f"{field.name}: '{_TYPES[field.type]}'" for field in source.fields)
        self._connection: duckdb.DuckDBPyConnection | None = None

    def recreate_table(self) -> None:
        self.close()
        self._file.unlink(missing_ok=True)
        self._connection = duckdb.connect(self._file, config={"threads": THREADS, "memory_limit": f"{MEMORY_MB}MB"})

    def load_file(self, path: Path) -> None:
        assert self._connection is not None
        # The table keeps the order of the file, which is that of time, so zone maps exclude older rows.
        self._connection.execute(
            f"CREATE TABLE events AS SELECT * FROM read_json(?, format = 'newline_delimited', columns = "
            f"{{{self._columns}}})",
            [str(path)],
        )

    def load_list(self, path: Path) -> None:
        assert self._connection is not None
        self._connection.execute(
            "CREATE OR REPLACE TABLE listed AS "
            "SELECT * FROM read_csv(?, header = false, columns = {address: 'VARCHAR'})",
            [str(path)],
        )

    def finish_merges(self) -> None:
        assert self._connection is not None
        self._connection.execute("CHECKPOINT")

    def measure_disk(self) -> int:
        return self._file.stat().st_size

    def run_sql(self, sql: str) -> pa.Table:
        assert self._connection is not None
        return self._connection.sql(sql).to_arrow_table()

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
