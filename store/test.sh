#!/bin/sh
# All tests: JUnit's of store/java, then pytest's (with the arguments given).
set -eu
cd "$(dirname "$0")/.."
reports=store/java/target/surefire-reports

JAVA_HOME=$(.venv/bin/python -c 'from watchfloor.store.stack_java import find_java; print(find_java())')
export JAVA_HOME
rm -rf $reports
(cd store/java && mvn -q -B test) >store/java/target/maven-test.log 2>&1 || {
    cat store/java/target/maven-test.log >&2
    exit 1
}
if [ -d $reports ]; then
    cat $reports/*.txt | grep '^Tests run'
fi
# Two processes with a stack each, whose tests wait for servers much of the time, and one for those that start their own.
exec .venv/bin/pytest -n 3 --dist loadfile --no-loadscope-reorder "$@"
