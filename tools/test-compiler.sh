#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# The compiler of make test (RUSTC_WORKSPACE_WRAPPER): test-compiler.sh RUSTC ARGUMENT...
#
# IDLEWISE_COMPILER names a driver that is called with the same, such as clippy-driver. What is tested is optimised as Cargo.toml has it,
# and the code of the tests is not: cargo has one profile for both, and to optimise the tests takes longer than they run.
set -eu
# shellcheck disable=SC2206
compiler=(${IDLEWISE_COMPILER-} "$@")
for argument; do
	[ "$argument" != --test ] || exec "${compiler[@]}" -C opt-level=0
done
exec "${compiler[@]}"
