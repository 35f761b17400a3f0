#!/bin/sh
# Runs tests with pytest, three processes at a time: `quick` those of `make test`, with JUnit's of store/java beside
# them; `soak` those of `make soak`, which are marked so; `all` both, which share their stacks, without those that
# tests/left_to_soak.txt names; `cluster` those that the further arguments name. Further arguments go to pytest.
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
cluster) chosen="" ;;
all)
    chosen=""
    for left in $(grep -v '^#' tests/left_to_soak.txt); do
        set -- --deselect "$left" "$@"
    done
    ;;
*)
    echo "no suite is named $suite; there are quick, soak, cluster and all" >&2
    exit 2
    ;;
esac
# Else each of the hundreds of processes that tests start would compile the whole project anew.
unset PYTHONDONTWRITEBYTECODE
# All tests are compiled once while programs are installed, and not by each process of pytest.
compiled=
if [ "$suite" = all ]; then
    .venv/bin/pytest --collect-only -q -p no:cacheprovider >/dev/null 2>&1 &
    compiled=$!
fi

if [ "$suite" = quick ] || [ "$suite" = all ]; then
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

# Kerberos for the tests of security, which are skipped where there is none. No service is started: a stack runs a KDC of
# its own.
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null && ! { command -v krb5kdc && command -v kadmin.local && command -v kinit; } >/dev/null; then
    echo "tests: installing MIT Kerberos"
    export DEBIAN_FRONTEND=noninteractive
    { apt-get -qq update && RUNLEVEL=1 apt-get -qq install -y --no-install-recommends krb5-kdc krb5-admin-server krb5-user; } >/dev/null ||
        echo "tests: apt-get could not install MIT Kerberos"
fi

# The tools by which tests make hosts of network namespaces; those tests are skipped where there are none.
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null && ! { command -v ip && command -v tc && command -v nft; } >/dev/null; then
    echo "tests: installing iproute2 and nftables"
    export DEBIAN_FRONTEND=noninteractive
    { apt-get -qq update && apt-get -qq install -y --no-install-recommends iproute2 nftables; } >/dev/null ||
        echo "tests: apt-get could not install iproute2 and nftables"
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
[ -z "$compiled" ] || wait $compiled || true
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
