#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Sees to the tools that a step needs: need.sh cargo cc trace-cmd
#
# As root on Debian and its kin what is missing is installed, saying so; otherwise the command that does it is named.
# Without cargo or a C compiler nothing works, so that is an error. The tests go on without the others: trace-cmd, perf
# and babeltrace2 are their second opinions, the rest builds kernels; tools/test.sh repeats at its end what was left out.
set -eu

say() { echo "need.sh: $*" >&2; }

install_package() { # PACKAGE
	if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
		say "to install it on Debian or Ubuntu: sudo apt-get install $1"
		return 1
	fi
	say "installing it: apt-get install $1"
	{ apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends $1; } >&2 || {
		say "apt-get failed"
		return 1
	}
}

for tool in "$@"; do
	! command -v "$tool" >/dev/null || continue
	say "$tool is missing"
	case $tool in
	cargo)
		say "install Rust (the version in Cargo.toml or newer) with rustup, see https://rustup.rs;"
		say "the cargo of a distribution may be too old"
		exit 2
		;;
	cc) install_package "gcc libc6-dev" || exit 2 ;;
	perf) install_package linux-perf || say "going on without perf" ;;
	aarch64-linux-gnu-gcc) install_package "gcc-aarch64-linux-gnu libc6-dev-arm64-cross" || say "going on without a compiler for arm64" ;;
	dtc) install_package device-tree-compiler || say "going on without dtc" ;;
	cyclictest) install_package rt-tests || say "going on without cyclictest" ;;
	babeltrace2) install_package "babeltrace2 python3-bt2" || say "going on without babeltrace2" ;;
	*) install_package "$tool" || say "going on without $tool" ;;
	esac
done
