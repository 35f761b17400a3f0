"""Engines that are asked in SQL, DuckDB and chDB. Read ``sql_engine`` first: it has the questions in SQL."""
