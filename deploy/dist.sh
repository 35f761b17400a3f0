#!/bin/sh
# Builds the wheel that holds everything, jars and web page too, in the folder that is the argument (dist). The same
# sources and jars give the same bytes: times in it are SOURCE_DATE_EPOCH or the last commit's, modes and order are fixed.
set -eu
cd "$(dirname "$0")/.."
target=${1:-dist}
jars=store/java/target/jars
page=api/rest/static
rooms="schema store ingest planner query api loadgen"
for folder in $jars store/java/target/ycsb $page; do
    [ -d $folder ] || { echo "dist: no $folder: run \`make setup\`" >&2; exit 1; }
done
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || echo 315532800)}
export SOURCE_DATE_EPOCH
umask 022
mkdir -p "$target"

# What an earlier build left beside the rooms must not get in.
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
# shellcheck disable=SC2086
tar -c --exclude=__pycache__ --exclude=api/web --exclude=store/java $rooms setup.py pyproject.toml README.md LICENSE |
    tar -x -C "$stage"
mkdir -p "$stage/store/java/target"
cp -R $jars store/java/target/ycsb "$stage/store/java/target"
chmod -R u=rwX,go=rX "$stage"
rm -f "$target"/watchfloor-*.whl
.venv/bin/pip wheel --quiet --disable-pip-version-check --no-index --no-deps --no-build-isolation \
    --wheel-dir "$target" "$stage"
ls "$target"/watchfloor-*.whl
