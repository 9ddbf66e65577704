#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Tests of the Python package: python-tests.sh [FILE [TEST...]]
#
# They need target/debug/idlewise and target/debug/lib_idlewise.so (cargo build). IDLEWISE_PYTHON_FRAMES names an environment
# with data frames; without it the tests that want them are skipped, and FILE gets why. TEST is a file of tests; all test_*.py where
# none is given.
set -eu -o pipefail
cd "$(dirname "$0")/.."

python=${IDLEWISE_PYTHON_FRAMES-target/python-frames}/bin/python
[ -x "$python" ] || python=python3
package=$PWD/target/python
rm -rf "$package"
mkdir -p "$package"
cp -r python/idlewise "$package/"
cp target/debug/lib_idlewise.so "$package/idlewise/_idlewise.abi3.so"
export PYTHONPATH=$package PYTHONDONTWRITEBYTECODE=1 IDLEWISE=$PWD/target/debug/idlewise
tests=("${@:2}")
[ ${#tests[@]} -gt 0 ] || tests=(python/tests/test_*.py)
all() {
	local failed=0
	for file in "${tests[@]}"; do
		"$python" "$file" -v || failed=1
	done
	return $failed
}
all 2>&1 | awk -v skipped="${1:-/dev/null}" '
	match($0, /\.\.\. skipped '"'"'.*'"'"'$/) { print substr($0, RSTART + 13, RLENGTH - 14) | "sort -u >" skipped }
	{ print }'
