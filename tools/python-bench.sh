#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Benchmarks of the Python package, optimised: python-bench.sh
set -eu -o pipefail
cd "$(dirname "$0")/.."

cargo build --release --locked -p idlewise-python
package=$PWD/target/python-bench
rm -rf "$package"
mkdir -p "$package"
cp -r python/idlewise "$package/"
cp "${CARGO_TARGET_DIR:-target}/release/lib_idlewise.so" "$package/idlewise/_idlewise.abi3.so"
for file in python/benches/*.py; do
	PYTHONPATH=$package PYTHONDONTWRITEBYTECODE=1 python3 "$file"
done
