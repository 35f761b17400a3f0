#!/bin/sh
# All tests: JUnit's of store/java, then pytest's (with the arguments given).
set -eu
cd "$(dirname "$0")/.."
reports=store/java/target/surefire-reports

JAVA_HOME=$(.venv/bin/python -c 'from watchfloor.store.stack_java import find_java; print(find_java())')
export JAVA_HOME
rm -rf $reports
(cd store/java && mvn -q -B -Dstyle.color=never test)
if [ -d $reports ]; then
    cat $reports/*.txt | grep '^Tests run'
fi
exec .venv/bin/pytest "$@"
