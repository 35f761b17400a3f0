"""Each room at the top level is a sub-package of ``watchfloor``; tools' settings stand in pyproject.toml."""

from setuptools import find_packages, setup

ROOMS = ("schema", "store", "ingest", "planner", "query", "api", "loadgen")

setup(
    packages=[
        f"watchfloor.{name}" for room in ROOMS for name in (room, *(f"{room}.{sub}" for sub in find_packages(room)))
    ],
    package_dir={f"watchfloor.{room}": room for room in ROOMS},
    package_data={
        f"watchfloor.{room}": [
            "py.typed",
            "**/*.lark",
            "**/*.json",
            "**/*.html",
            "rest/static/*",
            # Where `Settings.jars` expects them. `make dist` puts them there; an installation of a clone has none.
            "java/target/jars/*.jar",
            "java/target/ycsb/*.jar",
        ]
        for room in ROOMS
    },
)
