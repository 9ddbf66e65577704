#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Packs raw trace pages into a small trace.dat and prints its form.
#
#     pack.sh DIR OUT.dat
#
# DIR has cpu0, cpu1, ... (what per_cpu/cpuN/trace_pipe_raw gave), kallsyms, and tracing/: as much of a tracing
# directory as the file is to describe (events/, printk_formats, saved_cmdlines, trace_clock). A trace.dat carries all
# symbols of the kernel, 1 MB of a compressed file; this one carries those that its events refer to. Nothing is
# written unless `trace-cmd report` prints the same text for it as for the file with all of them.
set -euo pipefail
export LC_ALL=C

die() { echo "pack.sh: $*" >&2; exit 2; }
[ $# = 2 ] || die "usage: pack.sh DIR OUT.dat"
dir=$(cd "$1" && pwd) out=$2
command -v trace-cmd >/dev/null || die "trace-cmd is missing: apt-get install trace-cmd"
[ "$(id -u)" = 0 ] || die "needs root: trace-cmd restore looks at the machine's own tracing directory"
for dir_ in /sys/kernel/tracing /sys/kernel/debug/tracing; do
	[ ! -e "$dir_/trace_clock" ] || { tracing=$dir_; break; }
done
[ -n "${tracing-}" ] || die "no tracefs: mount -t tracefs nodev /sys/kernel/tracing"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mapfile -t pages < <(find "$dir" -maxdepth 1 -name 'cpu[0-9]*' | sort -V)
[ ${#pages[@]} -gt 0 ] || die "$1: no cpu0"
cp -r "$dir/tracing" "$work/tracing"

restore() { # KALLSYMS CMDLINES OUT
	cp "$2" "$work/tracing/saved_cmdlines"
	# The head is made from our copy, but the clock's name is always asked of the machine: show it ours.
	trace-cmd restore -c -t "$work/tracing" -k "$1" -o "$work/head" >"$work/log" 2>&1 &&
		unshare -m sh -c 'mount --bind "$1" "$2" && shift 2 && exec "$@"' sh "$dir/tracing/trace_clock" \
			"$tracing/trace_clock" trace-cmd restore -i "$work/head" -o "$3" "${pages[@]}" >>"$work/log" 2>&1 ||
		{ tail -5 "$work/log" >&2; die "trace-cmd restore failed"; }
}
report() { trace-cmd report "$@" 2>/dev/null; }

# Without symbols and plugins the report shows the addresses that need a name.
: >"$work/none"
restore "$work/none" "$dir/tracing/saved_cmdlines" "$work/bare.dat"
report -N "$work/bare.dat" >"$work/bare.txt"
# An address belongs to the nearest symbol below it; the one above ends it. Both, with all names they have.
width=$(awk 'NR == 1 { print length($1) }' "$dir/kallsyms")
grep -oE '0x[0-9a-f]{8,16}\b' "$work/bare.txt" | sort -u | awk -v width="${width:-16}" '
	{ a = substr($1, 3); while (length(a) < width) a = "0" a; print a, "~" }' >"$work/addresses"
sort -s -k1,1 "$dir/kallsyms" "$work/addresses" | awk '
	$2 == "~" { printf "%s", below; below = ""; above = 1; next }
	$1 != at { at = $1; below = ""; taken = above; above = 0 }
	taken { print; next }
	{ below = below $0 "\n" }' >"$work/kallsyms"
# Tasks that the trace does not know need no name.
sed -nE 's/^.*-([0-9]+) +\[[0-9]+\].*/\1/p' "$work/bare.txt" | sort -u >"$work/pids"
awk 'NR == FNR { pid[$1]; next } $1 in pid' "$work/pids" "$dir/tracing/saved_cmdlines" >"$work/cmdlines"

restore "$dir/kallsyms" "$dir/tracing/saved_cmdlines" "$work/full.dat"
report "$work/full.dat" >"$work/full.txt"
restore "$work/kallsyms" "$work/cmdlines" "$work/small.dat"
form="trace.dat version 6 (this trace-cmd has no convert)"
for compression in zstd any; do
	if trace-cmd convert -i "$work/small.dat" -o "$work/v7.dat" --file-version 7 --compression $compression \
		>"$work/log" 2>&1; then
		mv "$work/v7.dat" "$work/small.dat"
		form="trace.dat version 7, compression $compression"
		break
	fi
done
report "$work/small.dat" | cmp - "$work/full.txt" >&2 || die "the packed trace does not read as the raw pages do"
cat "$work/small.dat" >"$out"
echo "$form"
