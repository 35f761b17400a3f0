#!/bin/sh
# Writes a bill of materials (CycloneDX, JSON) of what is installed in .venv and of the jars: build/sbom-python.json and
# build/sbom-java.json.
set -eu
cd "$(dirname "$0")/.."
. .ci/tools.sh
mkdir -p build
.venv/tools/bin/cyclonedx-py environment --pyproject pyproject.toml --output-reproducible --of JSON \
    -o build/sbom-python.json .venv/bin/python
(cd store/java && mvn -q -B cyclonedx:makeBom)
cp store/java/target/bom.json build/sbom-java.json
echo "build/sbom-python.json build/sbom-java.json"
