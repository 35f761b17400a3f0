"""Each room at the top level is a sub-package of ``watchfloor``; tools' settings stand in pyproject.toml."""

from setuptools import setup

ROOMS = ("schema", "store", "ingest", "planner", "query", "api", "loadgen")

setup(
    packages=[f"watchfloor.{room}" for room in ROOMS],
    package_dir={f"watchfloor.{room}": room for room in ROOMS},
    package_data={
        f"watchfloor.{room}": ["py.typed", "*.lark", "*.json", "definitions/*.json", "templates/*", "static/*"]
        for room in ROOMS
    },
)
