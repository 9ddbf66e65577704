#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Builds the command as packages have it: package-build.sh TARGET, into target/TARGET/release. The folders of this machine
# do not get into the binary. Exit status 3, with the reason, if there is no toolchain for TARGET.
set -eu -o pipefail
cd "$(dirname "$0")/.."

target=${1:?usage: package-build.sh TARGET}
say() { echo "package-build.sh: $*" >&2; }

if [ "$target" = aarch64-unknown-linux-gnu ] && [ "$(uname -m)" != aarch64 ]; then
	command -v aarch64-linux-gnu-gcc >/dev/null || {
		say "$target: no C compiler for it (sudo apt-get install gcc-aarch64-linux-gnu libc6-dev-arm64-cross)"
		exit 3
	}
	export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=aarch64-linux-gnu-gcc
fi
rustc --print target-libdir --target "$target" 2>/dev/null | xargs -r ls >/dev/null 2>&1 || rustup target add "$target" >&2 || {
	say "$target: no standard library for it (rustup target add $target failed)"
	exit 3
}
# Flags apply to TARGET only, not to build scripts, since it is named.
cargo_home=${CARGO_HOME:-${HOME-}/.cargo}
export RUSTFLAGS="--remap-path-prefix=$PWD=/idlewise --remap-path-prefix=$cargo_home=/cargo"
export CFLAGS="-ffile-prefix-map=$PWD=/idlewise -ffile-prefix-map=$cargo_home=/cargo"
IDLEWISE_COMMIT=${IDLEWISE_COMMIT-$([ ! -e .git ] || git describe --always --dirty --abbrev=12 2>/dev/null || true)} \
	cargo build --release --locked -p idlewise-cli --target "$target" >&2
