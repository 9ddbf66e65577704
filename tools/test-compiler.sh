#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# The compiler of make test (RUSTC_WORKSPACE_WRAPPER): test-compiler.sh RUSTC ARGUMENT...
#
# IDLEWISE_COMPILER names a driver that is called with the same, such as clippy-driver. What is tested is optimised as Cargo.toml has it,
# and the code of tests and benchmarks is not: cargo has one profile for both, to optimise tests takes longer than they run, and
# benchmarks only have to compile here.
set -eu
# shellcheck disable=SC2206
compiler=(${IDLEWISE_COMPILER-} "$@")
for argument; do
	case $argument in
	--test | */benches/*.rs) exec "${compiler[@]}" -C opt-level=0 ;;
	esac
done
exec "${compiler[@]}"
