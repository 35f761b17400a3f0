# Sourced by scripts that need the tools of .ci/tools.in: installs them into .venv/tools, by hash once there is a lock.
if [ ! -x .venv/tools/bin/uv ]; then
    python3 -m venv .venv/tools
    if [ -f .ci/tools.txt ]; then
        .venv/tools/bin/pip install --quiet --disable-pip-version-check --require-hashes -r .ci/tools.txt
    else
        .venv/tools/bin/pip install --quiet --disable-pip-version-check -r .ci/tools.in
    fi
fi
