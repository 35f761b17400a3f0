#!/bin/sh
# Pins all that set-up installs: Python packages with the hashes of their files in .ci/requirements.txt, the tools of
# `make lock`, `make sbom` and `make audit` in .ci/tools.txt, the libraries of the web page in api/web/package-lock.json,
# and checksums of all Maven artifacts in store/java/artifacts.sha256. A package that is pinned keeps its version, unless `make lock UPGRADE=--upgrade` is called.
set -eu
cd "$(dirname "$0")/.."
. .ci/tools.sh
lock() {
    # shellcheck disable=SC2086
    .venv/tools/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-annotate \
        --custom-compile-command "make lock" ${UPGRADE:-} "$@"
}
lock --extra dev pyproject.toml .ci/build.in --output-file .ci/requirements.txt
lock .ci/tools.in --output-file .ci/tools.txt

(cd api/web && ../../.ci/node.sh npm install --package-lock-only --silent)

# An empty repository ends up with exactly what the build needs, its tests and the bill of materials included.
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cp -r store/java/pom.xml store/java/src store/java/hdfs "$scratch"
(cd "$scratch" && mvn -q -B -Dmaven.repo.local="$scratch/repository" -Dtest=LocalFilesTest package cyclonedx:makeBom &&
    mvn -q -B -Dmaven.repo.local="$scratch/repository" -f hdfs package cyclonedx:makeBom) >&2
python3 .ci/artifacts.py record "$scratch/repository"
