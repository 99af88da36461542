#!/bin/sh
# install_agents.sh DIRECTORY: the real agent CLIs, pinned, into a private directory. Twice is as good as once.
#
# The versions are those whose records the readers in skillopt/harnesses were tested on; a newer one is a new test. npm takes
# an older release than asked for without a word where node is too old for the newest, so every version is exact.
set -eu

directory=${1:?usage: install_agents.sh DIRECTORY}
packages="@openai/codex@0.171.0 @anthropic-ai/claude-code@2.1.197 @github/copilot@1.0.102"

if ! command -v npm >/dev/null 2>&1; then
    echo "make e2e needs npm (node 20 or newer): install node, or run the tests without the real programs" >&2
    exit 1
fi
stamp="$directory/.installed"
if [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$packages" ]; then
    exit 0
fi
mkdir -p "$directory"
# shellcheck disable=SC2086 # a list of words on purpose
npm install --no-audit --no-fund --loglevel=error --prefix "$directory" $packages
for program in codex claude copilot; do
    "$directory/node_modules/.bin/$program" --version >/dev/null || {
        echo "$program was installed into $directory and does not start" >&2
        exit 1
    }
done
printf '%s' "$packages" >"$stamp"
