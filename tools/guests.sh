#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Records Debian's own kernels in guests of two CPUs with four idle states: guests.sh IDLEWISE FOLDER [KERNEL ...]
#
# Boots each KERNEL (5.10, 6.1, 6.12 and 7.3 by default) in QEMU and records ten loads of tools/guests/record under every
# governor that it has, with IDLEWISE and, where the kernel permits, with the governor's inputs:
# FOLDER/KERNEL/LOAD-GOVERNOR.dat, .inputs.csv and .txt. Goes on where it stopped: recordings that are there remain.
#
# FOLDER also gets the kernels' packages, a root file system of Debian and the package lists of other suites: 2.5 GB in hidden
# folders. The system's package lists are not changed. Needs root, a network and half an hour.
# The guests' time is that of their instructions, 1 ns each, and stands still for nothing: timers are on time, whatever else the host
# does. GUESTS_ACCEL=kvm uses KVM instead; it needs a host with hardware support for it.
set -eu -o pipefail
cd "$(dirname "$0")/.."

[ $# -ge 2 ] || { echo "usage: guests.sh IDLEWISE FOLDER [KERNEL ...]" >&2; exit 2; }
idlewise=$(realpath "$1")
mkdir -p "$2"
folder=$(realpath "$2")
shift 2
[ $# -gt 0 ] || set -- 6.1 6.12 7.3 5.10
seconds=${GUESTS_SECONDS:-10}
governors=${GUESTS_GOVERNORS-}
accel=${GUESTS_ACCEL:-tcg,thread=single}
clock=()
[[ $accel != tcg* ]] || clock=(-icount shift=0,sleep=off)
mirror=${GUESTS_MIRROR:-http://deb.debian.org}

say() { echo "guests.sh: $*" >&2; }
die() { say "$*"; exit 2; }

[ "$(id -u)" = 0 ] || die "needs root, for debootstrap"
tools/need.sh cc iasl qemu-system-x86_64 busybox debootstrap mke2fs cpio modprobe zstd xz
exec 9>"$folder/.lock"
flock 9

apt() { # apt-get or apt-cache with lists of its own
	APT_CONFIG=$folder/.apt/options "$@"
}

lists() {
	local keys=/usr/share/keyrings/debian-archive-keyring.gpg suite
	[ ! -e "$folder/.apt/fetched" ] || return 0
	[ -f $keys ] || die "$keys is missing: apt-get install debian-archive-keyring"
	mkdir -p "$folder"/.apt/{state/lists,cache/archives}/partial
	for suite in bullseye bookworm trixie trixie-backports; do
		echo "deb [signed-by=$keys] $mirror/debian $suite main"
	done >"$folder/.apt/sources.list"
	for suite in bullseye bookworm trixie; do
		echo "deb [signed-by=$keys] $mirror/debian-security $suite-security main"
	done >>"$folder/.apt/sources.list"
	cat >"$folder/.apt/options" <<-END
		Dir::State "$folder/.apt/state";
		Dir::State::status "/dev/null";
		Dir::Cache "$folder/.apt/cache";
		Dir::Etc::sourcelist "$folder/.apt/sources.list";
		Dir::Etc::sourceparts "/dev/null";
		APT::Sandbox::User "root";
	END
	say "fetching package lists"
	apt apt-get update -qq >&2
	touch "$folder/.apt/fetched"
}

# The newest package of a kernel that is no special build; since 7.3 image and modules have packages of their own.
kernel() { # VERSION
	local to=$folder/.kernels/$1 work release kind
	[ ! -e "$to/initrd" ] || return 0
	lists
	release=$(apt apt-cache search --names-only "^linux-image-${1//./\\.}[.0-9+a-z-]*-amd64\$" | awk '{ print $1 }' |
		grep -E "^linux-image-${1//./\\.}\.[0-9]+(-[0-9]+|\+deb13)-amd64\$" | sort -V | tail -n 1)
	release=${release#linux-image-}
	[ -n "$release" ] || die "$1: no such kernel in bullseye, bookworm, trixie and trixie-backports"
	say "fetching $release"
	rm -rf "$to"
	work=$to/new
	mkdir -p "$work"
	for kind in image binary modules base; do
		[ "$kind" = image ] || [ -n "$(apt apt-cache search --names-only "^linux-$kind-${release//+/\\+}\$")" ] || continue
		(cd "$work" && apt apt-get download -qq "linux-$kind-$release" >&2)
	done
	for package in "$work"/*.deb; do
		dpkg-deb -x "$package" "$to"
	done
	rm -rf "$work"
	[ -d "$to/lib" ] || ln -s usr/lib "$to/lib"
	depmod -b "$to" "$release"
	unpack_image "$(find "$to" -name 'vmlinuz*' -type f)" >"$to/vmlinux"
	initrd "$to" "$release" >"$to/initrd.new"
	mv "$to/initrd.new" "$to/initrd"
}

# The ELF file inside of a bzImage (Documentation/arch/x86/boot.rst: setup_sects, payload_offset, payload_length), which QEMU
# starts without the kernel's own decompressor: where KVM emulates that, it takes minutes.
unpack_image() { # BZIMAGE
	local setup offset length
	field() { od -An -j "$2" -N "$3" -t "u$3" "$1" | tr -d ' '; }
	setup=$((($(field "$1" 497 1) + 1) * 512))
	offset=$(($(field "$1" 584 4) + setup))
	length=$(field "$1" 588 4)
	tail -c +$((offset + 1)) "$1" | head -c "$length" >"$1.payload" || true
	# Its last four bytes are the length of the unpacked kernel.
	case $(od -An -N 4 -t x1 "$1.payload" | tr -d ' ') in
	fd377a58) head -c -4 "$1.payload" | xz -dc ;;
	28b52ffd) head -c -4 "$1.payload" | zstd -dcq ;;
	*) die "$1: its kernel is packed in a way that is not known here" ;;
	esac
	rm -f "$1.payload"
}

initrd() { # FOLDER RELEASE
	local at=$1/initramfs n=10 module
	mkdir -p "$at/bin" "$at/modules"
	cp "$(command -v busybox)" "$at/bin/busybox"
	cp tools/guests/init "$at/init"
	chmod +x "$at/init"
	for module in virtio_pci virtio_blk ext4 9pnet_virtio 9p; do
		modprobe -S "$2" -d "$1" --show-depends "$module"
	done | awk '$1 == "insmod" && !seen[$2]++ { print $2 }' | while read -r module; do
		n=$((n + 1))
		case $module in
		*.xz) xz -dc "$module" ;;
		*) cat "$module" ;;
		esac >"$at/modules/$n-$(basename "${module%.xz}")"
	done
	(cd "$at" && find . | cpio -o -H newc --quiet) | gzip
}

# The guests' disk.
disk() {
	local root=$folder/.root
	if [ ! -e "$folder/.root-made" ]; then
		say "making a root file system"
		rm -rf "$root"
		debootstrap --variant=minbase --include=stress-ng,fio,redis-server,rt-tests,tcc,libc6-dev,iproute2 \
			bookworm "$root" "$mirror/debian" >"$folder/.debootstrap.log" ||
			die "debootstrap failed: see $folder/.debootstrap.log"
		touch "$folder/.root-made"
	fi
	strip -o "$root/usr/local/bin/idlewise" "$idlewise"
	cp tools/loads/mixed.c "$root/root/"
	cc -O2 -pthread -o "$root/usr/local/bin/mixed" tools/loads/mixed.c -lm
	mkdir -p "$folder/.kernels"
	rm -f "$folder/.disk"
	mke2fs -q -t ext4 -d "$root" "$folder/.disk" 2G
	iasl -p "$folder/.kernels/states" tools/guests/states.asl >"$folder/.iasl.log" || die "iasl failed: see $folder/.iasl.log"
}

boot() { # VERSION
	local to=$folder/$1
	mkdir -p "$to"
	cp tools/guests/record "$to/.record"
	printf "SECONDS_EACH=%q\nGOVERNORS=%q\n" "$seconds" "$governors" >"$to/.settings"
	say "Linux $1 ($accel)"
	timeout $((seconds * 600)) qemu-system-x86_64 -accel "$accel" "${clock[@]}" -cpu max -smp 2 -m 1536 -display none -serial stdio \
		-no-reboot -acpitable "file=$folder/.kernels/states.aml" -kernel "$folder/.kernels/$1/vmlinux" \
		-initrd "$folder/.kernels/$1/initrd" -append "console=ttyS0 quiet nokaslr tsc=reliable" \
		-drive "file=$folder/.disk,format=raw,if=virtio,snapshot=on" \
		-virtfs "local,path=$to,mount_tag=recordings,security_model=none" \
		</dev/null >"$to/.console" 2>&1 9>&- || say "Linux $1: QEMU ended with status $?, see $to/.console"
	grep -a 'guest: ' "$to/.console" >&2 || say "Linux $1: nothing was recorded, see $to/.console"
}

disk
for version; do
	kernel "$version"
	boot "$version"
done
