#!/bin/sh
# Runs tests with pytest, three processes at a time: `quick` those of `make test`, with JUnit's of store/java beside
# them; `soak` those of `make soak`, which are marked so; `all` both, which share their stacks, without the short forms of
# tests that draw the same at length, without the pictures of the page, and without Sigma's rules for Windows. Further
# arguments go to pytest.
set -eu
cd "$(dirname "$0")/.."
suite=$1
shift
log=store/java/target/maven-test.log
reports=store/java/target/surefire-reports
junit=

case $suite in
quick) chosen="not soak" ;;
soak) chosen="soak" ;;
all)
    chosen=""
    oracle=tests/query/test_oracle.py
    set -- --ignore tests/query/stats/test_stats_oracle.py --ignore tests/ingest/exact/test_exact.py \
        --ignore tests/api/page/test_screenshots.py --ignore tests/api/fuzz/test_fuzzed_requests.py \
        --ignore tests/schema/filter/sigma/test_sigma_windows.py \
        --deselect $oracle::test_every_operator_on_every_type --deselect $oracle::test_filters_of_any_shape_on_real_logs \
        --deselect $oracle::test_enough_was_asked "$@"
    ;;
*)
    echo "no suite is named $suite; there are quick, soak and all" >&2
    exit 2
    ;;
esac
if [ "$suite" != soak ]; then
    JAVA_HOME=$(.venv/bin/python -c 'from watchfloor.store.runtime.java_home import find_java; print(find_java())')
    export JAVA_HOME
    rm -rf $reports
    (cd store/java && exec mvn -q -B test) >$log 2>&1 &
    junit=$!
fi

# The browser for the tests of the web page and of reports, which are skipped where there is none.
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null && ! command -v chromium >/dev/null; then
    echo "tests: installing chromium"
    export DEBIAN_FRONTEND=noninteractive
    { apt-get -qq update && apt-get -qq install -y --no-install-recommends chromium fonts-dejavu-core; } >/dev/null ||
        echo "tests: apt-get could not install chromium"
fi

# Prometheus for the tests of the dashboards, which are skipped where there is none. Only its programs: the package would
# start a service.
prometheus=build/prometheus
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null && ! command -v prometheus >/dev/null && [ ! -x $prometheus/usr/bin/prometheus ]; then
    echo "tests: fetching prometheus"
    mkdir -p $prometheus
    (cd $prometheus && { apt-get -qq update && apt-get -qq download prometheus; } >/dev/null 2>&1 && dpkg-deb -x prometheus_*.deb . && rm prometheus_*.deb) ||
        echo "tests: apt-get could not fetch prometheus"
fi

# Two processes with a stack each, whose tests wait for servers much of the time, and one for those that start their own.
result=0
.venv/bin/pytest -n 3 --dist loadfile --no-loadscope-reorder --durations=20 --durations-min=8 -m "$chosen" "$@" || result=$?

if [ -n "$junit" ]; then
    wait $junit || {
        cat $log >&2
        result=1
    }
    if [ -d $reports ]; then
        cat $reports/*.txt | grep '^Tests run'
    fi
fi
exit $result
