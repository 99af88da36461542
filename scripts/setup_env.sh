#!/bin/sh
# Make a virtual environment and install this project into it: setup_env.sh VENV PYTHON REQUIREMENT
# uv where it is present and reaches an index; else venv and pip; where venv has no pip of its own, the caller's pip.
set -eu
venv=$1 python=$2 requirement=$3

"$python" -c 'import sys; sys.exit(sys.version_info < (3, 10))' || {
    echo "error: $python is older than 3.10; set PYTHON to a newer one, for example: make PYTHON=python3.12 $requirement" >&2
    exit 1
}

# A directory that already holds another environment is used as it is, never cleared.
if command -v uv >/dev/null 2>&1; then
    [ -x "$venv/bin/python" ] || uv venv --quiet --python "$python" "$venv" || true
    if [ -x "$venv/bin/python" ] && uv pip install --quiet --python "$venv/bin/python" --editable "$requirement"; then
        exit 0
    fi
    echo "note: uv could not install; trying pip, which may be configured with another index" >&2
fi

[ -x "$venv/bin/python" ] || "$python" -m venv "$venv" 2>/dev/null || "$python" -m venv --without-pip --clear "$venv"
if "$venv/bin/python" -m pip --version >/dev/null 2>&1; then
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --editable "$requirement"
elif "$python" -m pip --version >/dev/null 2>&1; then
    "$python" -m pip --python "$venv/bin/python" install --quiet --disable-pip-version-check --editable "$requirement"
else
    echo "error: neither uv nor pip is available for $python; install one of them and run make again" >&2
    exit 1
fi
