#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Sees to the kernel sources that the tests compile: kernel-sources.sh FOLDER
#
# FOLDER gets linux-source-6.1/ and linux-source-6.12/ with drivers/cpuidle and the top Makefile of Debian's packages of
# that name, and the archive of the second; nothing of them ever belongs to the project. What is there already is left alone. The recorded decisions were made by
# 6.1.192 and 6.12.117: these versions are asked for first, then whatever the package sources offer.
# Where it cannot be done the reason is said and the exit status is 0: the tests that want the sources then say that they are skipped.
set -eu -o pipefail

folder=${1:?usage: kernel-sources.sh FOLDER}

say() { echo "kernel-sources.sh: $*" >&2; }

download() { # PACKAGE VERSION
	local exact
	exact=$(apt-cache madison "$1" 2>/dev/null | awk -v v="$2" '$3 ~ "^" v "-" { print $3; exit }')
	if [ -n "$exact" ]; then
		apt-get download -qq -o APT::Sandbox::User=root "$1=$exact" >&2
	else
		say "$1 $2 is not offered; taking what is (its decisions are not compared then)"
		apt-get download -qq -o APT::Sandbox::User=root "$1" >&2
	fi
}

# A fresh machine knows of no packages until it is told.
lists() {
	[ "$(id -u)" = 0 ] || return 1
	say "apt-get update"
	apt-get update -qq >&2
}

fetch() { # PACKAGE VERSION
	local to="$folder/$1" work
	[ ! -f "$to/Makefile" ] || return 0
	for tool in apt-get apt-cache dpkg-deb tar xz; do
		command -v "$tool" >/dev/null || {
			say "$1: needs $tool (Debian and its kin have it); name trees in IDLEWISE_KERNEL_SOURCES instead"
			return 0
		}
	done
	mkdir -p "$folder"
	work=$(mktemp -d "$folder/.new-XXXXXX")
	say "downloading $1 for the tests"
	if ! (cd "$work" && { download "$1" "$2" || { lists && download "$1" "$2"; }; }); then
		rm -rf "$work"
		say "$1: cannot be downloaded (no network, or no package lists: sudo apt-get update); name trees in IDLEWISE_KERNEL_SOURCES instead"
		return 0
	fi
	# A package that holds one archive.
	if ! dpkg-deb --fsys-tarfile "$work"/"$1"_*.deb | tar xO --wildcards '*/linux-source-*.tar.xz' >"$work/$1.tar.xz" ||
		! tar xJf "$work/$1.tar.xz" -C "$work" --wildcards --no-wildcards-match-slash '*/Makefile' '*/drivers/cpuidle'; then
		rm -rf "$work"
		say "$1: cannot be unpacked"
		return 0
	fi
	# The boot lab unpacks all of this one.
	[ "$1" != linux-source-6.12 ] || mv "$work/$1.tar.xz" "$folder/"
	# Whole or not at all, should somebody else do the same.
	mv -T "$work/$1" "$to" 2>/dev/null || true
	rm -rf "$work"
}

fetch linux-source-6.1 6.1.192
fetch linux-source-6.12 6.12.117
