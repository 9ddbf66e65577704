#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Sees to the kernel sources that the tests compile: kernel-sources.sh FOLDER [VERSION ...]
#
# With versions, such as 7.2, to those kernels' sources instead, as `idlewise review --base 7.2` finds them there.
#
# FOLDER gets linux-source-6.1/, linux-source-6.12/ and linux-source-7.3/ with drivers/cpuidle and the top Makefile of Debian's
# packages of that name, and the archives of the last two, which the boot lab unpacks; nothing of them ever belongs to the project.
# What is there already is left alone. The recorded decisions were made by 6.1.192, 6.12.117 and 7.3.4: these versions are asked
# for first, then whatever the package sources offer. A kernel that is newer than this system's release comes from a suite of a
# later one, by package lists in a folder of their own; the system's are not changed.
# Where it cannot be done the reason is said and the exit status is 0: the tests that want the sources then say that they are skipped.
set -eu -o pipefail

folder=${1:?usage: kernel-sources.sh FOLDER [VERSION ...]}
shift

say() { echo "kernel-sources.sh: $*" >&2; }

download() { # PACKAGE VERSION [APT-OPTION...]
	local exact package=$1 version=$2
	shift 2
	exact=$(apt-cache "$@" madison "$package" 2>/dev/null | awk -v v="$version" '$3 ~ "^" v "-" { print $3; exit }')
	if [ "$version" = newest ]; then
		apt-get "$@" download -qq -o APT::Sandbox::User=root "$package" >&2
	elif [ -n "$exact" ]; then
		apt-get "$@" download -qq -o APT::Sandbox::User=root "$package=$exact" >&2
	else
		say "$package $version is not offered; taking what is (its decisions are not compared then)"
		apt-get "$@" download -qq -o APT::Sandbox::User=root "$package" >&2
	fi
}

# The same from a suite that this system does not have, at the archive that it uses.
download_of() { # SUITE PACKAGE VERSION
	local suite=$1 uri state keys=/usr/share/keyrings/debian-archive-keyring.gpg
	uri=$(apt-get indextargets --format '$(CREATED_BY) $(ORIGIN) $(COMPONENT) $(REPO_URI) $(CODENAME)' | awk '
		$1 == "Packages" && $2 == "Debian" && $3 == "main" && $4 !~ /security/ && $5 !~ /-/ { print $4; exit }')
	if [ -z "$uri" ] || [ ! -f $keys ]; then
		say "$2: this system's package sources name no Debian archive, or its keys are not here"
		return 1
	fi
	state=$PWD/.apt
	mkdir -p "$state"/state/lists/partial "$state"/cache/archives/partial
	echo "deb [signed-by=$keys] $uri $suite main" >"$state/sources.list"
	local options=(
		-o Dir::State="$state/state" -o Dir::State::status=/dev/null -o Dir::Cache="$state/cache"
		-o Dir::Etc::sourcelist="$state/sources.list" -o Dir::Etc::sourceparts=/dev/null
	)
	apt-get "${options[@]}" -o APT::Sandbox::User=root update -qq >&2 || return 1
	download "$2" "$3" "${options[@]}"
}

# A fresh machine knows of no packages before its lists are fetched.
lists() {
	[ "$(id -u)" = 0 ] || return 1
	say "apt-get update"
	apt-get update -qq >&2
}

fetch() { # PACKAGE VERSION [SUITE]
	local to="$folder/$1" work suite=${3-}
	[ ! -f "$to/Makefile" ] || return 0
	for tool in apt-get apt-cache dpkg-deb tar xz; do
		command -v "$tool" >/dev/null || {
			say "$1: needs $tool (Debian and its kin have it); name trees in IDLEWISE_KERNEL_SOURCES instead"
			return 0
		}
	done
	work=$(mktemp -d "$folder/.new-XXXXXX")
	say "downloading $1 for the tests"
	if [ -n "$suite" ] && ! apt-cache show "$1" >/dev/null 2>&1; then
		if ! (cd "$work" && download_of "$suite" "$1" "$2"); then
			rm -rf "$work"
			say "$1: neither this system's suites nor $suite offer it (or there is no network); name trees in IDLEWISE_KERNEL_SOURCES instead"
			return 0
		fi
	elif ! (cd "$work" && { download "$1" "$2" || { lists && download "$1" "$2"; }; }); then
		rm -rf "$work"
		say "$1: cannot be downloaded (no network, or no package lists: sudo apt-get update); name trees in IDLEWISE_KERNEL_SOURCES instead"
		return 0
	fi
	# A package that holds one archive. Of that, what follows the last of these is not unpacked.
	if ! dpkg-deb --fsys-tarfile "$work"/"$1"_*.deb | tar xO --wildcards '*/linux-source-*.tar.xz' >"$work/$1.tar.xz" ||
		! tar xJf "$work/$1.tar.xz" -C "$work" --occurrence "$1/Makefile" "$1/drivers/cpuidle"; then
		rm -rf "$work"
		say "$1: cannot be unpacked"
		return 0
	fi
	# The boot lab unpacks all of these.
	[ "$1" = linux-source-6.1 ] || mv "$work/$1.tar.xz" "$folder/"
	# Whole or not at all, should somebody else do the same.
	mv -T "$work/$1" "$to" 2>/dev/null || true
	rm -rf "$work"
}

mkdir -p "$folder"
# Another clone's tests may be at it.
exec 9>"$folder/.lock"
flock 9
# Of one that was ended.
rm -rf "$folder"/.new-*
if [ $# -gt 0 ]; then
	for version; do
		[[ $version =~ ^[0-9]+\.[0-9]+$ ]] || {
			say "$version: no version of a kernel; write MAJOR.MINOR, such as 7.2"
			exit 2
		}
		fetch "linux-source-$version" newest trixie-backports
	done
	exit 0
fi
fetch linux-source-6.1 6.1.192
fetch linux-source-6.12 6.12.117
fetch linux-source-7.3 7.3.4 trixie-backports
