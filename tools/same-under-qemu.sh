#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Does the aarch64 command give the same bytes as this machine's? same-under-qemu.sh OURS AARCH64
# Exit status 1 if not, 3 if qemu-user is not here.
set -eu -o pipefail
cd "$(dirname "$0")/.."

ours=$1 foreign=$2
command -v qemu-aarch64-static >/dev/null || exit 3
# Debian's cross compiler brings the C library that qemu needs.
[ -d /usr/aarch64-linux-gnu/lib ] || exit 3
results=$(mktemp -d)
trap 'rm -rf "$results"' EXIT

n=0
same() { # ARGUMENT...
	local a=0 b=0
	"$ours" "$@" >"$results/ours" 2>&1 || a=$?
	qemu-aarch64-static -L /usr/aarch64-linux-gnu "$foreign" "$@" >"$results/foreign" 2>&1 || b=$?
	if [ "$a" != "$b" ] || ! cmp -s "$results/ours" "$results/foreign"; then
		echo "differs under qemu (status $a and $b): idlewise $*" >&2
		diff "$results/ours" "$results/foreign" | head -n 20 >&2
		exit 1
	fi
	n=$((n + 1))
}

all=menu,menu-6.1,teo,teo-5.6,teo-6.1,teo-6.6,teo-fixed,teo-util,teo-util-v1,teo-weighted,ladder,haltpoll,shallow,deepest,eco,oracle
for trace in tests/data/mixed.dat tests/data/sleeploop.dat; do
	same info "$trace"
	same info "$trace" --format json
	same score "$trace" --per cpu
	same score "$trace" --format json
	for platform in pixel6 skylake-sp; do
		same replay "$trace" --platform "$platform" --governor $all
		same replay "$trace" --platform "$platform" --governor $all --format json
	done
	same compare teo-6.1 teo-util --trace "$trace" --platform pixel6
done
same explain tests/data/mixed.dat --platform pixel6 --governor teo-util --after 0.03
same simulate frames --platform pixel6 --governor menu,teo-util --seconds 1 --repeat 2
same platform show pixel6
same governors
echo "aarch64 under qemu-user: $n commands print the same bytes as here"
