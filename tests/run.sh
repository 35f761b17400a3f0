#!/bin/sh
# All tests: JUnit's of store/java beside pytest's (with the arguments given).
set -eu
cd "$(dirname "$0")/.."
log=store/java/target/maven-test.log
reports=store/java/target/surefire-reports

JAVA_HOME=$(.venv/bin/python -c 'from watchfloor.store.runtime.java_home import find_java; print(find_java())')
export JAVA_HOME
rm -rf $reports
(cd store/java && exec mvn -q -B test) >$log 2>&1 &
junit=$!

# Two processes with a stack each, whose tests wait for servers much of the time, and one for those that start their own.
result=0
.venv/bin/pytest -n 3 --dist loadfile --no-loadscope-reorder "$@" || result=$?

wait $junit || {
    cat $log >&2
    result=1
}
if [ -d $reports ]; then
    cat $reports/*.txt | grep '^Tests run'
fi
exit $result
