#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Makes the corpus that ships with idlewise: tools/corpus.sh IDLEWISE FOLDER [simulated|booted|measured|elsewhere ...]
#
# FOLDER must not be there yet. Simulated and booted recordings come out the same each time; measured ones are those that are
# kept in tests/data and, where it is there, in $IDLEWISE_SHARED (../shared). Recordings of others are indexed where they lie.
# Parts: all unless some are named. BOOTS names a folder with kept runs of the boot lab.
set -eu -o pipefail
idlewise=$(realpath "$1") to=$2
shift 2
parts=${*:-simulated booted measured elsewhere}
cd "$(dirname "$0")/.."
shared=$(realpath -m "${IDLEWISE_SHARED:-../shared}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
[ ! -e "$to" ] || { echo "$to is there; remove it, or name another folder" >&2; exit 2; }
mkdir -p "$to"
refused=()

wanted() { [[ " $parts " = *" $1 "* ]]; }

split_of() {
	case $1 in
	sapphire-rapids|zen-laptop|juno|kvm-guest) echo validation ;;
	ice-lake-sp|mt8196|kaby-lake-15w) echo test ;;
	*) echo train ;;
	esac
}

# add ID MACHINE LOAD BASIS TRACE COMMAND [OPTION ...]
add() {
	local id=$1 machine=$2 load=$3 basis=$4 trace=$5 command=$6
	shift 6
	"$idlewise" corpus add "$trace" --to "$to" --id "$id" --workload "$load" --basis "$basis" \
		--licence GPL-2.0-only --origin 'made for idlewise' --command "$command" \
		--split "$(split_of "$machine")" "$@" >"$work/said" || refused+=("$id")
	head -n 1 "$work/said"
}

# simulated MACHINE GOVERNOR SECONDS LOAD ...
simulated() {
	local machine=$1 governor=$2 seconds=$3 load file
	shift 3
	for load; do
		file=$load
		[ ! -e "docs/guide/example/beside/$load.json" ] || [ "$load" = reads ] ||
			file=docs/guide/example/beside/$load.json
		local command="simulate $file --platform $machine --governor $governor --seconds $seconds"
		local trace=$work/$machine-$load.perfetto-trace
		"$idlewise" $command --write-trace "$trace" >"$work/said"
		add "sim-$machine-$load" "$machine" "$load" model "$trace" "idlewise $command --write-trace TRACE" \
			--kernel 6.12
	done
}

# booted MACHINE[/CPUS] GOVERNOR LOAD ...; "network" is the kind of the load "network-light" as well
booted() {
	local machine=${1%/*} cpus= governor=$2 load run
	[ "$machine" = "$1" ] || cpus=" --cpus ${1#*/}"
	shift 2
	for load; do
		local command="boot run --platform $machine$cpus --workload $load --governor $governor --seconds 3"
		local runs=${BOOTS:-$work/boots}
		if [ ! -d "$runs/$machine-synth-$load" ]; then
			"$idlewise" $command --to "$runs" >"$work/said"
		fi
		run=$(echo "$runs/$machine-synth-$load"/*/trace)
		local options=()
		# The kernel's own file, whose choices the governor of that name makes.
		[[ $governor != linux/* ]] || options=(--kernel-governor "${governor#linux/}-6.12")
		add "boot-$machine-$load" "$machine" "${load%%-*}" emulated "$run" "idlewise $command" \
			--kernel "$(sed -n 's/^kernel = "\(.*\)"$/\1/p' "$(dirname "$run")/run.toml")" "${options[@]}" \
			--counters "$(dirname "$run")/counters-before" "$(dirname "$run")/counters-after"
	done
}

# measured ID LOAD GOVERNOR FILE COMMAND: on CPU 0 of a guest of KVM
measured() {
	local id=$1 load=$2 governor=$3 file=$4 command=$5
	if [ ! -e "$file" ]; then
		echo "skipped: $id: $file is not there" >&2
		return
	fi
	local options=()
	[ -e "${file%.dat}.toml" ] || options=(--recorded-on kvm-guest --kernel-governor "$governor")
	add "kvm-$id" kvm-guest "$load" measured "$file" "$command" --kernel 6.18 "${options[@]}"
}

# elsewhere ID MACHINE LOAD LICENCE ORIGIN FILE [OPTION ...]: where it lies
elsewhere() {
	local id=$1 machine=$2 load=$3 licence=$4 origin=$5 file=$6
	shift 6
	if [ ! -e "$file" ]; then
		echo "skipped: $id: $file is not there" >&2
		return
	fi
	"$idlewise" corpus add "$file" --to "$to" --id "$id" --workload "$load" --basis measured --licence "$licence" \
		--origin "$origin" --split "$(split_of "$machine")" --in-place --recorded-on "$machine" "$@" >"$work/said" ||
		refused+=("$id")
	head -n 1 "$work/said"
}

if wanted simulated; then
	simulated pixel6 teo 3 frames web handing stages
	simulated skylake-sp menu 2 requests
	simulated skylake-sp teo 2 periodic roaming
	simulated skylake-sp menu 1 reads
	simulated sapphire-rapids teo 2 requests pingpong timers web
	simulated alder-lake-mobile menu 3 frames handing
	simulated alder-lake-mobile teo 3 web
	simulated jasper-lake menu 3 web frames
	simulated jasper-lake menu 1 reads
	simulated zen-server teo-6.1 2 requests pingpong
	simulated zen-server teo-6.1 1 reads
	simulated zen-laptop teo-6.6 3 web frames timers
	simulated ice-lake-sp teo-6.1 2 requests roaming periodic
	simulated mt8196 teo-util 3 frames web timers
	simulated lx2160a menu 2 requests handing
	simulated lx2160a menu 1 reads
	simulated haswell-ep teo-6.6 2 requests pingpong
	simulated haswell-ep teo-6.6 10 timer
	simulated kaby-lake-15w teo 3 web requests frames
	simulated kaby-lake-15w teo 10 timer
fi
if wanted booted; then
	booted rk3399 linux/menu idle hackbench cyclictest fio timer pingpong compile compile-serial network
	booted hikey960 teo-6.1 hackbench cyclictest fio timer pingpong compile-serial network-busy
	booted juno menu idle hackbench cyclictest fio timer pingpong compile network network-light
	booted imx8mm linux/teo hackbench cyclictest fio timer pingpong compile-serial network
	booted pixel6 teo compile network
fi
if wanted measured; then
	guest=$shared/traces/kvm-guest
	record='trace-cmd record -C mono -e power -e sched -e timer -e irq -e irq_vectors'
	measured mixed mixed menu tests/data/mixed.dat "see tests/data/README.md"
	measured sleeploop sleeploop menu tests/data/sleeploop.dat "see tests/data/README.md"
	measured quiet quiet menu tests/data/kvm-guest/idle_quiet.dat "see tests/data/README.md"
	measured cyclictest cyclictest menu "$guest/cyclictest_cpu0.dat" "$record: cyclictest on CPU 0"
	measured rt-app-video video menu "$guest/rtapp60.dat" "$record: rt-app with 60 Hz video"
	measured sleeploop-haltpoll sleeploop haltpoll:guest_halt_poll_ns=0 "$guest/sleeploop_cpu0_haltpoll.dat" "$record: sleeps on CPU 0"
	measured sleeploop-ladder sleeploop ladder "$guest/ladder_sleeploop.dat" "$record: sleeps"
	measured sleeploop-polled sleeploop haltpoll "$guest/hp200_sleeploop.dat" "$record: sleeps, guest_halt_poll_ns=200000"
fi
if wanted elsewhere; then
	list='linux-pm, November 2025'
	elsewhere mt8196-6.12 mt8196 unknown LicenseRef-posted "$list" \
		"$shared/traces/mt8196/trace_6_12_sleep_length.dat"
	elsewhere mt8196-mainline mt8196 unknown LicenseRef-posted "$list" \
		"$shared/traces/mt8196/trace_mainline_tick_wakeups.dat"
	elsewhere juno-lisa juno sched-load Apache-2.0 LISA "$shared/traces/trace-dat/juno_sched_load_v6.dat"
fi
"$idlewise" corpus verify "$to"
# As from corpus/, wherever it was made.
from=$(realpath -m --relative-to="$to" "$shared") as=$(realpath -m --relative-to=corpus "$shared")
sed -i "s|^file = \"$from/|file = \"$as/|" "$to/index.toml"
if [ ${#refused[@]} -gt 0 ]; then
	echo "refused: ${refused[*]}" >&2
	exit 1
fi
