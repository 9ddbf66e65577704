#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Sees to the tools that a step needs: need.sh cargo cc trace-cmd
#
# As root on Debian and its kin what is missing is installed, saying so, unless IDLEWISE_INSTALL=no; otherwise the command that
# does it is named.
# Without cargo or a C compiler nothing works, so that is an error. The tests go on without the others: trace-cmd, perf
# and babeltrace2 are their second opinions, the rest builds kernels; tools/test.sh repeats at its end what was left out.
set -eu

say() { echo "need.sh: $*" >&2; }

packages_of() { # TOOL: the Debian packages that have it
	case $1 in
	cc) echo gcc libc6-dev ;;
	perf) echo linux-perf ;;
	aarch64-linux-gnu-gcc) echo gcc-aarch64-linux-gnu libc6-dev-arm64-cross ;;
	dtc) echo device-tree-compiler ;;
	dpkg-deb) echo dpkg ;;
	qemu-aarch64-static) echo qemu-user-static ;;
	cyclictest) echo rt-tests ;;
	qemu-system-x86_64) echo qemu-system-x86 ;;
	iasl) echo acpica-tools ;;
	busybox) echo busybox-static ;;
	mke2fs) echo e2fsprogs ;;
	modprobe) echo kmod ;;
	xz) echo xz-utils ;;
	babeltrace2) echo babeltrace2 python3-bt2 ;;
	*) echo "$1" ;;
	esac
}

install_packages() { # PACKAGE...
	DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends "$@" >&2
}

missing=() packages=()
for tool in "$@"; do
	! command -v "$tool" >/dev/null || continue
	if [ "$tool" = cargo ]; then
		say "cargo is missing: install Rust (the version in Cargo.toml or newer) with rustup, see https://rustup.rs;"
		say "the cargo of a distribution may be too old"
		exit 2
	fi
	missing+=("$tool")
	read -ra some < <(packages_of "$tool")
	packages+=("${some[@]}")
done
[ ${#missing[@]} -gt 0 ] || exit 0

say "missing: ${missing[*]}"
if [ "$(id -u)" = 0 ] && [ "${IDLEWISE_INSTALL-yes}" != no ] && command -v apt-get >/dev/null; then
	say "installing: apt-get install ${packages[*]}"
	apt-get update -qq >&2 || say "apt-get update failed"
	# One that cannot be had does not keep the others away.
	install_packages "${packages[@]}" ||
		for tool in "${missing[@]}"; do
			read -ra some < <(packages_of "$tool")
			install_packages "${some[@]}" || say "apt-get install ${some[*]} failed"
		done
else
	say "to install them on Debian or Ubuntu: sudo apt-get install ${packages[*]}"
fi
for tool in "${missing[@]}"; do
	command -v "$tool" >/dev/null || {
		[ "$tool" != cc ] || exit 2
		say "going on without $tool"
	}
done
