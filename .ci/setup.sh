#!/bin/sh
# Installs and builds everything that Watchfloor needs, in .venv, store/java/target and api/rest/static. Unchanged parts
# are left alone.
set -eu
cd "$(dirname "$0")/.."
rooms="schema store ingest planner query api loadgen"
target=store/java/target
page=api/rest/static
say() { echo "setup: $*"; }
fail() { echo "setup: $*" >&2; exit 1; }

# Prints the home of a Java 17 or 21 with a compiler (Hadoop's libraries fail on newer ones).
find_jdk() {
    on_path=$(command -v javac || true)
    [ -z "$on_path" ] || on_path=$(dirname "$(dirname "$(readlink -f "$on_path")")")
    for home in "${JAVA_HOME:-}" "$on_path" /usr/lib/jvm/* /Library/Java/JavaVirtualMachines/*/Contents/Home; do
        # Without JAVA_HOME the first one is empty, and /bin/javac is a link that leads to no home.
        [ -n "$home" ] && [ -x "$home/bin/javac" ] || continue
        if grep -Eqs '^JAVA_VERSION="(17|21)[."]' "$home/release"; then
            echo "$home"
            return
        fi
    done
}

# Prints the path of a Python of 3.11 or newer that can make virtual environments.
find_python() {
    for name in python3 python3.13 python3.12 python3.11; do
        if "$name" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
            command -v "$name"
            return
        fi
    done
}

# Prints the packages that are missing, by their names in Debian.
list_missing() {
    [ -n "$(find_jdk)" ] || printf ' openjdk-17-jdk-headless'
    command -v mvn >/dev/null || printf ' maven'
    command -v make >/dev/null || printf ' make'
    command -v g++ >/dev/null || printf ' g++'
    [ -n "$(find_python)" ] || printf ' python3-venv'
}

packages=$(list_missing)
if [ -n "$packages" ] && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    say "installing$packages"
    export DEBIAN_FRONTEND=noninteractive
    # shellcheck disable=SC2086
    { apt-get -qq update && apt-get -qq install -y --no-upgrade --no-install-recommends $packages; } >/dev/null ||
        say "apt-get could not install all of$packages"
    packages=$(list_missing)
fi
case $packages in "" | " g++") ;; *) fail "missing:$packages (Java 17 or 21, Maven, make, Python 3.11 or newer with venv)" ;; esac
JAVA_HOME=$(find_jdk)
export JAVA_HOME

# Prints a digest of the contents and names of files.
digest() {
    find "$@" -type f ! -name '*.pyc' -print0 | LC_ALL=C sort -z | xargs -0 cksum | cksum
}
# True if a stamp file, the first argument, holds the digest that is the second.
is_unchanged() {
    [ -f "$1" ] && [ "$(cat "$1")" = "$2" ]
}

[ -x .venv/bin/python ] || "$(find_python)" -m venv .venv

# The jars: our own, and all that the stack and the bridge run on.
build_jars() {
    digest_now=$(digest store/java/pom.xml store/java/hdfs store/java/artifacts.sha256 store/java/src)
    if ! is_unchanged $target/stamp "$digest_now" || [ ! -d $target/jars ] || [ ! -d $target/ycsb ] || [ ! -d $target/hdfs ]; then
        say "building jars with Maven (the first time it fetches about 160 MB)"
        mkdir -p $target
        repository=${MAVEN_REPOSITORY:-$HOME/.m2/repository}
        # Before, as the build runs plugins of the repository; and after, as it may have fetched some.
        .venv/bin/python .ci/artifacts.py check "$repository" || fail "an artifact of Maven was changed"
        (cd store/java && mvn -q -B -Dmaven.repo.local="$repository" -DskipTests package &&
            mvn -q -B -Dmaven.repo.local="$repository" -f hdfs package) >$target/maven.log 2>&1 || {
            cat $target/maven.log >&2
            fail "Maven did not build store/java"
        }
        .venv/bin/python .ci/artifacts.py check "$repository" $target/jars $target/ycsb $target/hdfs || {
            rm -rf $target/jars $target/ycsb $target/hdfs
            fail "an artifact of Maven was changed, or is new: \`make lock\` records what pom.xml names"
        }
        echo "$digest_now" >$target/stamp
    fi
}

# The tablet server's native map. It lies outside the unpacked source, which Maven may unpack again.
build_native_map() {
    source=$(echo $target/native/accumulo-native-*)
    if ! command -v g++ >/dev/null; then
        say "no g++: tablet servers will use the Java map, which is slower"
    else
        digest_now=$(digest "$source/nativeMap" "$source/javah" "$source/Makefile")
        if ! is_unchanged $target/native-lib/stamp "$digest_now"; then
            say "compiling the native map"
            mkdir -p $target/native-lib
            make -s -C "$source" >$target/native-lib/make.log 2>&1 || fail "the native map does not compile: $target/native-lib/make.log"
            # Rename the file into place: a running tablet server has the old one mapped, and must keep it.
            for library in "$source"/libaccumulo.*; do
                cp "$library" $target/native-lib/new
                mv $target/native-lib/new "$target/native-lib/${library##*/}"
            done
            echo "$digest_now" >$target/native-lib/stamp
        fi
    fi
}

# Maven fetches and compiles while Python's packages and the page are installed; who fails meanwhile waits for its end.
(
    build_jars
    build_native_map
) &
building=$!
trap wait EXIT

# Python, with the rooms where mypy finds them as parts of one package.
digest_now=$(digest pyproject.toml setup.py .ci/requirements.txt)
if ! is_unchanged .venv/stamp "$digest_now"; then
    say "installing Python packages into .venv"
    pip=".venv/bin/pip install --quiet --disable-pip-version-check"
    # Every file that is fetched must have a hash that `make lock` has recorded.
    $pip --require-hashes -r .ci/requirements.txt
    $pip --no-deps --no-build-isolation -e .
    .venv/bin/pip check >/dev/null || fail "pyproject.toml wants what .ci/requirements.txt lacks: run \`make lock\`"
    echo "$digest_now" >.venv/stamp
fi
mkdir -p .venv/typing/watchfloor
for room in $rooms; do
    ln -sfn "$PWD/$room" ".venv/typing/watchfloor/$room"
done

# The web page, bundled into the package. Its libraries stay out of the rooms, which tests copy as a whole.
digest_now=$(digest api/web)
if ! is_unchanged .venv/web/stamp "$digest_now" || [ ! -d $page ]; then
    say "building the web page"
    mkdir -p .venv/web
    cp api/web/package.json api/web/package-lock.json api/web/.npmrc .venv/web
    # npm compares each package with the hash that the lock file records.
    (cd .venv/web && ../../.ci/node.sh npm ci --silent) || fail "npm cannot install what api/web/package-lock.json names"
    .ci/node.sh node api/web/build.mjs .venv/web/node_modules $page || fail "the web page cannot be built"
    echo "$digest_now" >.venv/web/stamp
fi

wait $building || exit 1

# The class archives, with which servers and clients start in about half the time.
.venv/bin/python -m watchfloor.store.stack.make_archive
