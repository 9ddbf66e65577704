#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Installs a Debian package into a fresh Debian 12, runs it, removes it, and looks for what is left: package-test.sh DEB
#
# The root is made with debootstrap, which needs root and a mirror (MIRROR, else that of this system's apt), and is kept in
# the cache folder. Exit status 1 if something is wrong, 3 if no root could be made.
set -eu -o pipefail
cd "$(dirname "$0")/.."

deb=${1:?usage: package-test.sh DEB}
cache=${XDG_CACHE_HOME:-${HOME-}/.cache}/idlewise
base=$cache/bookworm.tar
say() { echo "package-test.sh: $*" >&2; }

[ "$(id -u)" = 0 ] && command -v debootstrap >/dev/null || exit 3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
root=$work/root
mkdir -p "$cache" "$root"
if [ ! -f "$base" ]; then
	mirror=${MIRROR:-$(sed -nE 's/^(URIs:|deb) +(\[[^]]*\] +)?(https?:[^ ]*debian)\/?( .*)?$/\3/p' \
		/etc/apt/sources.list /etc/apt/sources.list.d/* 2>/dev/null | head -n 1)}
	say "making a Debian 12 with debootstrap"
	debootstrap --variant=minbase --include=man-db bookworm "$root" ${mirror:+"$mirror"} >"$work/log" 2>&1 || {
		tail -n 5 "$work/log" >&2
		exit 3
	}
	tar -C "$root" -cf "$base.$$" .
	mv "$base.$$" "$base"
else
	tar -C "$root" -xpf "$base"
fi

inside() {
	unshare --mount --pid --fork --mount-proc="$root/proc" chroot "$root" /usr/bin/env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 \
		DEBIAN_FRONTEND=noninteractive "$@"
}
# What the package manager and the index of manual pages write of their own.
files() { (cd "$root" && find . -xdev ! -path './var/cache/*' ! -path './var/lib/dpkg/*' ! -path './var/log/*' ! -path './root/*' | LC_ALL=C sort); }

cp "$deb" "$root/root/idlewise.deb"
files >"$work/before"
inside dpkg -i /root/idlewise.deb >"$work/log" 2>&1 || {
	cat "$work/log" >&2
	say "dpkg -i failed"
	exit 1
}
inside sh -eu -c '
	idlewise --version --verbose
	cd /usr/share/doc/idlewise
	idlewise replay tests/data/mixed.dat --platform pixel6 --governor menu,teo-util,oracle | grep -E "^ (metric|idle energy)"
	idlewise info tests/data/mixed.dat >/dev/null
	idlewise score tests/data/mixed.dat >/dev/null
	idlewise platform check /usr/share/idlewise/platforms/pixel6.toml
	man -w idlewise idlewise-replay idlewise-boot-run
	apropos -s 1 idlewise | wc -l
	dpkg --verify idlewise
'
files >"$work/with"
inside dpkg -r idlewise >"$work/log" 2>&1 || {
	cat "$work/log" >&2
	say "dpkg -r failed"
	exit 1
}
files >"$work/after"
diff "$work/before" "$work/after" >&2 || {
	say "files are left after removal"
	exit 1
}
! inside dpkg -s idlewise 2>/dev/null | grep -q '^Status:.*config-files' || {
	say "configuration is left after removal"
	exit 1
}
echo "Debian 12, fresh: installed ($(comm -13 "$work/before" "$work/with" | wc -l) files and folders), run, removed; nothing is left"
