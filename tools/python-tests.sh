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
export PYTHONPATH=$package PYTHONPYCACHEPREFIX=$PWD/target/python-cache IDLEWISE=$PWD/target/debug/idlewise
tests=("${@:2}")
[ ${#tests[@]} -gt 0 ] || tests=(python/tests/test_*.py)
# Two files at a time: much of what they do is to wait. What each prints comes as a whole.
said=$(mktemp -d)
trap 'rm -rf "$said"' EXIT
all() {
	local failed=0
	export python said
	# shellcheck disable=SC2016
	printf '%s\n' "${tests[@]}" | xargs -P 2 -I FILE bash -c '
		rc=0; "$python" "$1" -v >"$said/${1##*/}" 2>&1 || rc=1
		flock "$said" cat "$said/${1##*/}"; exit $rc' - FILE || failed=1
	return $failed
}
all 2>&1 | awk -v skipped="${1:-/dev/null}" '
	match($0, /\.\.\. skipped '"'"'.*'"'"'$/) { print substr($0, RSTART + 13, RLENGTH - 14) | "sort -u >" skipped }
	{ print }'
