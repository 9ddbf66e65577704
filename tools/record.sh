#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Records what idlewise replays, on the running kernel: NAME.dat and, beside it, NAME.toml (and NAME.sysfs).
#
# It has a tracefs instance of its own, so that it works where `trace-cmd record` is refused (kernel lockdown) and
# leaves the tracing of others alone. Nobody reads the buffer while the load runs; the raw pages are taken afterwards
# and packed by pack.sh.
set -euo pipefail
export LC_ALL=C

usage() {
	cat <<'END'
usage: record.sh [options] NAME [-- COMMAND [ARGUMENT...]]

Records while COMMAND runs, or for some seconds, and writes
  NAME.dat    the trace
  NAME.toml   what idlewise wants to know about it, and how it was made
  NAME.sysfs  the machine's idle states (not with --platform)

  -d, --duration SECONDS   without a command: how long [10]; with one: stop it after so long
  -c, --cpus LIST          run the command on these CPUs only, as in taskset: 0 or 2-3,6
  -l, --load LOAD          run tools/loads/LOAD.c; the arguments after -- are its own
  -g, --governor GOVERNOR  let this idle governor rule meanwhile; the old one comes back
  -p, --platform PLATFORM  the machine's name in idlewise, instead of NAME.sysfs
  -b, --buffer KIB         trace buffer of each CPU [65536]
  -n, --note TEXT          goes into NAME.toml; may be repeated
  -f, --force              overwrite NAME.*
  -h, --help
END
}

say() { echo "record.sh: $*" >&2; }
die() { say "$*"; exit 2; }

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
asked="tools/record.sh$(for word in "$@"; do printf ' %q' "$word"; done)"
duration='' cpus='' load='' governor='' platform='' buffer_kib=65536 notes=() force='' name=''
while [ $# -gt 0 ]; do
	case $1 in
	-h | --help) usage; exit 0 ;;
	-f | --force) force=1; shift; continue ;;
	--) shift; break ;;
	-d | --duration | -c | --cpus | -l | --load | -g | --governor | -p | --platform | -b | --buffer | -n | --note)
		[ $# -ge 2 ] || die "$1 needs a value"
		case $1 in
		-d | --duration) duration=$2 ;;
		-c | --cpus) cpus=$2 ;;
		-l | --load) load=$2 ;;
		-g | --governor) governor=$2 ;;
		-p | --platform) platform=$2 ;;
		-b | --buffer) buffer_kib=$2 ;;
		-n | --note) notes+=("$2") ;;
		esac
		shift 2
		continue
		;;
	-*) usage >&2; die "no such option: $1" ;;
	*) [ -z "$name" ] || die "two names: $name and $1 (the command goes after --)"; name=$1; shift; continue ;;
	esac
done
[ -n "$name" ] || { usage >&2; die "no NAME"; }
name=${name%.dat}
[[ -z $duration || $duration =~ ^[0-9]+(\.[0-9]+)?$ ]] || die "--duration $duration: not a number of seconds"
[[ $buffer_kib =~ ^[0-9]+$ ]] || die "--buffer $buffer_kib: not a number of KiB"
[ -z "$load" ] || [ -f "$here/loads/$load.c" ] || die "no such load: tools/loads/$load.c"
command=("$@")
if [ -n "$load" ]; then
	shown="tools/loads/$load.c $*"
elif [ ${#command[@]} -eq 0 ]; then
	duration=${duration:-10}
	shown="nothing of its own"
else
	shown="$*"
fi

[ "$(id -u)" = 0 ] || die "needs root: sudo tools/record.sh ..."
for tool in trace-cmd taskset unshare:util-linux timeout:coreutils; do
	command -v "${tool%:*}" >/dev/null || die "${tool%:*} is missing: apt-get install ${tool#*:}"
done
for file in "$name.dat" "$name.toml" "$name.sysfs"; do
	[ -n "$force" ] || [ ! -e "$file" ] || die "$file is there already (--force overwrites)"
done
tracing=
for dir in /sys/kernel/tracing /sys/kernel/debug/tracing; do
	[ ! -e "$dir/instances" ] || { tracing=$dir; break; }
done
[ -n "$tracing" ] || die "no tracefs: mount -t tracefs nodev /sys/kernel/tracing"
grep -qw mono "$tracing/trace_clock" || die "this kernel's tracing has no mono clock"
cpuidle=/sys/devices/system/cpu/cpuidle

instance=$tracing/instances/idlewise-$$
work=$(mktemp -d)
recorded=() missing=()
old_governor=
keep=
child=
clean() {
	trap '' INT TERM
	[ -z "$child" ] || kill "$child" 2>/dev/null || true
	if [ -d "$instance" ]; then
		echo 0 >"$instance/tracing_on" || true
		rmdir "$instance" || say "could not remove $instance"
	fi
	[ -z "$old_governor" ] || echo "$old_governor" >"$cpuidle/current_governor" || say "the governor was $old_governor"
	[ -n "$keep" ] || rm -rf "$work"
}
trap clean EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# --- the load -------------------------------------------------------------------------------------------------------

if [ -n "$load" ]; then
	compiler=$(command -v cc || command -v gcc || command -v clang) || die "no C compiler: apt-get install gcc"
	mkdir "$work/bin"
	"$compiler" -O2 -Wall -pthread -o "$work/bin/$load" "$here/loads/$load.c" -lm
	command=("$work/bin/$load" "$@")
fi
if [ ${#command[@]} -eq 0 ]; then
	command=(sleep "$duration")
elif [ -n "$duration" ]; then
	command=(timeout --preserve-status "$duration" "${command[@]}")
fi
[ -z "$cpus" ] || command=(taskset -c "$cpus" "${command[@]}")
if [ -n "$governor" ]; then
	grep -qw -- "$governor" "$cpuidle/available_governors" || die "$governor: this kernel has $(cat $cpuidle/available_governors)"
	old_governor=$(cat $cpuidle/current_governor)
	echo "$governor" >$cpuidle/current_governor
fi

# --- the instance ---------------------------------------------------------------------------------------------------

mkdir "$instance" || die "cannot make a tracefs instance"
echo 0 >"$instance/tracing_on"
echo mono >"$instance/trace_clock"
echo "$buffer_kib" >"$instance/buffer_size_kb" || die "no memory for $buffer_kib KiB a CPU (--buffer)"
sched=(sched_switch sched_waking sched_wakeup sched_wakeup_new sched_migrate_task sched_wake_idle_without_ipi
	sched_blocked_reason sched_stat_iowait sched_stat_blocked)
for event in power timer timer_migration irq irq_vectors ipi "${sched[@]/#/sched/}"; do
	if [ -e "$instance/events/$event/enable" ]; then
		echo 1 >"$instance/events/$event/enable"
		recorded+=("$event")
	else
		say "this kernel has no $event events"
		missing+=("$event")
	fi
done

counters() {
	# The sysfs counters exist per CPU and state: FILE:VALUE, in one process.
	grep . $(printf '%s ' /sys/devices/system/cpu/cpu[0-9]*/cpuidle/state*/{usage,time,above,below,rejected}) 2>/dev/null || true
}
lost() {
	cat "$instance"/per_cpu/cpu*/stats |
		awk -F': *' '$1 ~ /^(overrun|commit overrun|dropped events)$/ { n += $2 } END { print n + 0 }'
}

# --- record ---------------------------------------------------------------------------------------------------------

say "recording: $shown"
counters >"$work/before"
read -r start _ </proc/uptime
echo 1 >"$instance/tracing_on"
status=0
"${command[@]}" >"$work/out" 2>"$work/err" &
child=$!
wait "$child" || status=$?
child=
echo 0 >"$instance/tracing_on"
read -r end _ </proc/uptime
counters >"$work/after"
sed 's/^/  /' "$work/out" "$work/err" >&2
case $status in
0) ;;
143) [ -n "$duration" ] || die "the command ended with status $status; nothing is written" ;;
*) die "the command ended with status $status; nothing is written" ;;
esac

lost=$(lost)
events=$(cat "$instance"/per_cpu/cpu*/stats | awk -F': *' '$1 == "entries" { n += $2 } END { print n + 0 }')
[ "$lost" = 0 ] || say "$lost events were lost: a larger --buffer helps"
[ "$events" != 0 ] || die "no events at all were recorded"
mkdir "$work/raw"
for pipe in "$instance"/per_cpu/cpu*/trace_pipe_raw; do
	cpu=$(basename "$(dirname "$pipe")")
	# An offline CPU's buffer is empty or cannot be opened, but its place is counted.
	: >"$work/raw/$cpu"
	dd if="$pipe" of="$work/raw/$cpu" bs=4096 iflag=nonblock 2>/dev/null || true
done

# --- pack -----------------------------------------------------------------------------------------------------------

for event in ftrace "${recorded[@]}"; do
	for format in "$instance/events/$event"/format "$instance/events/$event"/*/format "$tracing/events/$event"/*/format; do
		[ -e "$format" ] || continue
		to=$work/raw/tracing/events/${format#*/events/}
		mkdir -p "$(dirname "$to")"
		cat "$format" >"$to"
	done
done
for file in events/header_page events/header_event saved_cmdlines; do
	cat "$tracing/$file" >"$work/raw/tracing/$file"
done
: >"$work/raw/tracing/printk_formats"
cat "$instance/trace_clock" >"$work/raw/tracing/trace_clock"
cat /proc/kallsyms >"$work/raw/kallsyms"
if ! grep -qv '^0* ' "$work/raw/kallsyms"; then
	say "the kernel hides its symbols (kernel.kptr_restrict): timer handlers stay nameless, the tick's too"
fi
form=$("$here/pack.sh" "$work/raw" "$name.dat") || { keep=1; die "the raw pages are in $work/raw"; }

# --- what to know about it ------------------------------------------------------------------------------------------

if [ -z "$platform" ]; then
	grep . -r /sys/devices/system/cpu/cpu[0-9]*/cpuidle >"$name.sysfs" 2>/dev/null || true
	platform=$(basename "$name.sysfs")
fi
quote() { printf '"%s"' "$(printf '%s' "$1" | sed 's/\\/\\\\/g; s/"/\\"/g' | tr '\n\t' '  ')"; }
list() { local sep='' word; printf '['; for word in "$@"; do printf '%s' "$sep"; quote "$word"; sep=', '; done; printf ']'; }
entry() { [ ! -r "$2" ] || printf '%s = %s\n' "$1" "$(quote "$(cat "$2")")"; }
{
	echo "# SPDX-License-Identifier: GPL-2.0-only"
	echo "platform = $(quote "$platform")"
	cat "$cpuidle/current_governor" "$cpuidle/current_governor_ro" 2>/dev/null | head -1 | sed 's/.*/governor = "&"/'
	echo
	echo "[made]"
	echo "command = $(quote "$asked")"
	echo "load = $(quote "$shown")"
	[ ${#notes[@]} -eq 0 ] || echo "notes = $(list "${notes[@]}")"
	echo "kernel = $(quote "$(uname -r)")"
	echo "machine = $(quote "$(uname -m)")"
	entry cpus_online /sys/devices/system/cpu/online
	entry driver $cpuidle/current_driver
	entry guest_halt_poll_ns /sys/module/haltpoll/parameters/guest_halt_poll_ns
	limit=$(od -An -td4 -N4 /dev/cpu_dma_latency 2>/dev/null | tr -d ' ') || limit=
	[ -z "$limit" ] || echo "latency_limit_us = $limit"
	echo "seconds = $(awk -v a="$start" -v b="$end" 'BEGIN { printf "%.2f", b - a }')"
	echo "clock = \"mono\""
	echo "format = $(quote "$form")"
	echo "events = $events"
	echo "lost_events = $lost"
	echo "recorded = $(list "${recorded[@]}")"
	[ ${#missing[@]} -eq 0 ] || echo "missing = $(list "${missing[@]}")"
	echo
	echo "# Differences of the kernel's own counters; read just outside of the recording."
	echo "[made.sysfs]"
	awk -F: 'NR == FNR { before[$1] = $2; next }
		{
			n = split($1, part, "/"); key = part[n - 3] "." part[n - 1]
			if (!(key in at)) { at[key] = ++count; names[count] = key }
			field = part[n] == "time" ? "time_us" : part[n]
			text[key] = text[key] (key in text && text[key] != "" ? ", " : "") field " = " ($2 - before[$1])
		}
		END { for (i = 1; i <= count; i++) printf "\"%s\" = { %s }\n", names[i], text[names[i]] }' \
		"$work/before" "$work/after" | sort -V
} >"$name.toml"

say "$name.dat: $events events, $lost lost, $(stat -c %s "$name.dat") bytes"
