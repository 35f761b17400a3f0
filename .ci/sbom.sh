#!/bin/sh
# Writes bills of materials (CycloneDX, JSON) of what is installed in .venv, of the jars and of the web page's libraries:
# build/sbom-python.json,
# build/sbom-java.json, build/sbom-hdfs.json and build/sbom-page.json.
set -eu
cd "$(dirname "$0")/.."
. .ci/tools.sh
mkdir -p build
.venv/tools/bin/cyclonedx-py environment --pyproject pyproject.toml --output-reproducible --of JSON \
    -o build/sbom-python.json .venv/bin/python
(cd store/java && mvn -q -B cyclonedx:makeBom)
cp store/java/target/bom.json build/sbom-java.json
(cd store/java/hdfs && mvn -q -B cyclonedx:makeBom)
cp store/java/hdfs/target/bom.json build/sbom-hdfs.json
(cd api/web && ../../.ci/node.sh npm sbom --package-lock-only --sbom-format cyclonedx) >build/sbom-page.json
echo "build/sbom-python.json build/sbom-java.json build/sbom-hdfs.json build/sbom-page.json"
