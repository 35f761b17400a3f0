"""The names of engines as people write them."""

from __future__ import annotations

_NAMES = {
    "watchfloor": "Watchfloor",
    "in process": "Watchfloor in the process",
    "block": "Watchfloor, block layout",
    "cell": "Watchfloor, cell layout",
    "duckdb": "DuckDB",
    "chdb": "chDB",
    "tantivy": "Tantivy",
    "opensearch": "OpenSearch",
    "victorialogs": "VictoriaLogs",
}


def spell_engine(engine: str) -> str:
    """Returns the name of an engine as people write it: ``DuckDB`` for the label ``duckdb``."""
    return _NAMES.get(engine, engine)
