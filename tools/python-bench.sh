#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Benchmarks of the Python package, optimised: python-bench.sh [FILE...]
#
# IDLEWISE_PYTHON_FRAMES names an environment with the packages that a benchmark may want (tools/python-frames.sh).
set -eu -o pipefail
cd "$(dirname "$0")/.."

cargo build --release --locked -p idlewise-python
package=$PWD/target/python-bench
rm -rf "$package"
mkdir -p "$package"
cp -r python/idlewise "$package/"
cp "${CARGO_TARGET_DIR:-target}/release/lib_idlewise.so" "$package/idlewise/_idlewise.abi3.so"
python=${IDLEWISE_PYTHON_FRAMES-target/python-frames}/bin/python
[ -x "$python" ] || python=python3
benches=("$@")
[ ${#benches[@]} -gt 0 ] || benches=(python/benches/*.py)
for file in "${benches[@]}"; do
	PYTHONPATH=$package PYTHONDONTWRITEBYTECODE=1 "$python" "$file"
done
