#!/bin/sh
# Looks for known holes in the pinned Python packages (pip-audit), in the libraries of the web page (npm) and in the jars
# (osv-scanner, where it is installed).
# Exit status 1 if one is found; 3 if that is not known of all of them, because no data can be reached.
set -u
cd "$(dirname "$0")/.."
. .ci/tools.sh
found=0
unknown=0
say_unknown() {
    echo "audit: NOT audited: $*"
    unknown=3
}

output=$(.venv/tools/bin/pip-audit --require-hashes --disable-pip --progress-spinner off -r .ci/requirements.txt 2>&1)
status=$?
missed=$(echo "$output" | grep -c "could not be audited")
case $status,$output in
    0,*) ;;
    *"known vulnerabilit"*)
        found=1
        echo "$output" | grep -v "could not be audited"
        ;;
    *) say_unknown "the Python packages, no data on their holes can be reached ($(echo "$output" | tail -1))" ;;
esac
if [ "$missed" -gt 0 ]; then
    say_unknown "$missed Python packages, of which the service that was asked knows nothing"
fi

output=$(cd api/web && ../../.ci/node.sh npm audit --package-lock-only 2>&1)
case $?,$output in
    0,*) ;;
    *[0-9]" vulnerabilit"*)
        found=1
        echo "$output"
        ;;
    *) say_unknown "the web page's libraries, no data on their holes can be reached" ;;
esac

if ! command -v osv-scanner >/dev/null; then
    say_unknown "the jars, as osv-scanner is not installed; SECURITY.md names the holes that were known when it was written"
elif ! .ci/sbom.sh >/dev/null; then
    say_unknown "the jars, as their bill of materials could not be made"
else
    osv-scanner scan source --sbom build/sbom-java.json --sbom build/sbom-hdfs.json
    case $? in
        0) ;;
        1) found=1 ;;
        *) say_unknown "the jars, no data on their holes can be reached" ;;
    esac
fi
[ $((found + unknown)) != 0 ] || echo "audit: no known hole"
[ $found = 1 ] && exit 1
exit $unknown
