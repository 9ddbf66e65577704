#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Makes what is given to others, in target/package: for x86_64 and aarch64 an archive and a Debian package. Each is tried:
# the Debian package of this machine's architecture in a fresh Debian root, the aarch64 command under qemu-user. What could
# not be made or tried is named at the end.
#
# The same commit gives the same bytes with the same compilers: files have the time of the release, folders of this machine
# are not in them.
set -eu -o pipefail
cd "$(dirname "$0")/.."

out=$PWD/target/package
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
released=$(sed -n "s/^## $version - //p" CHANGELOG.md)
export SOURCE_DATE_EPOCH
SOURCE_DATE_EPOCH=$(date -u -d "$released" +%s)
maintainer=${MAINTAINER:-The authors of idlewise <idlewise@localhost>}
notes=()

say() { echo "package.sh: $*" >&2; }

# The newest symbols of glibc that a binary asks for, as a version.
glibc_of() { # BINARY
	LC_ALL=C objdump -T "$1" | grep -oE 'GLIBC_[0-9.]+' | sort -Vu | tail -n 1 | cut -d_ -f2
}

stage() { # FOLDER TARGET PREFIX: what make install puts there
	rm -rf "$1"
	DESTDIR=$1 PREFIX=$3 DESCRIBE=$describe STRIP=$strip NOTICES_LATER=1 tools/install.sh install "target/$2/release/idlewise"
	python3 tools/third-party.py "$2" "$1.copyright" "$1$3/share/doc/idlewise/third-party-notices.txt"
	chmod 644 "$1$3/share/doc/idlewise/third-party-notices.txt"
}

archive() { # TARGET MACHINE
	local name=idlewise-$version-$2-linux
	stage "$out/$name" "$1" ""
	rm "$out/$name.copyright"
	cat >"$out/$name/README" <<-END
		idlewise $version for Linux on $2, with glibc $(glibc_of "$out/$name/bin/idlewise") or newer.

		bin/idlewise runs from any folder. To install it with its manual pages and completions:
		    sudo cp -r bin share /usr/local/
		The documentation begins with share/doc/idlewise/README.md.
	END
	tar -C "$out" --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$SOURCE_DATE_EPOCH" -c "$name" |
		gzip -9n >"$out/$name.tar.gz"
	rm -r "${out:?}/$name"
	say "$name.tar.gz: $(stat -c %s "$out/$name.tar.gz") bytes"
}

debian() { # TARGET ARCHITECTURE
	local name=idlewise_${version}_$2 root=$out/deb-$2 doc
	stage "$root" "$1" /usr
	doc=$root/usr/share/doc/idlewise
	mv "$root.copyright" "$doc/copyright"
	# As Debian wants it: the licence is in common-licenses, its zsh has a folder for packages.
	rm "$doc/LICENSE"
	mkdir -p "$root/usr/share/zsh/vendor-completions"
	mv "$root/usr/share/zsh/site-functions/_idlewise" "$root/usr/share/zsh/vendor-completions/"
	rmdir "$root/usr/share/zsh/site-functions"
	find "$root/usr/share/man" -name '*.1' -exec gzip -9n {} +
	gzip -9n "$doc/third-party-notices.txt"
	{
		echo "idlewise ($version) unstable; urgency=medium"
		echo
		# An item a paragraph, without links, as wide as Debian's tools like it.
		awk -v head="## $version -" 'index($0, head) == 1 { on = 1; next } /^## / { on = 0 }
			on && /^\* / { if (item) print item; item = $0; next } on && /^  / { item = item " " substr($0, 3) }
			END { print item }' CHANGELOG.md | sed -E 's/\[([^]]*)\]\([^)]*\)/\1/g' |
			while read -r item; do
				fold -s -w 72 <<<"$item" | sed -e '1s/^/  /' -e '1!s/^/    /' -e 's/ *$//'
			done
		echo
		echo " -- $maintainer  $(LC_ALL=C date -u -d "@$SOURCE_DATE_EPOCH" '+%a, %d %b %Y %H:%M:%S +0000')"
	} | gzip -9n >"$doc/changelog.gz"
	find "$root" -type d -exec chmod 755 {} +
	mkdir -m 755 "$root/DEBIAN"
	(cd "$root" && find usr -type f | LC_ALL=C sort | xargs md5sum >DEBIAN/md5sums)
	cat >"$root/DEBIAN/control" <<-END
		Package: idlewise
		Version: $version
		Architecture: $2
		Maintainer: $maintainer
		Installed-Size: $(du -k -s --apparent-size "$root/usr" | cut -f1)
		Depends: libc6 (>= $(glibc_of "$root/usr/bin/idlewise")), libgcc-s1 (>= 4.2)
		Suggests: gcc | clang, trace-cmd, man-db, bash-completion
		Section: devel
		Priority: optional
		Description: laboratory for Linux CPU idle governors
		 A CPU that has nothing to run enters an idle state; the idle governor of the
		 kernel chooses which. idlewise records what a machine does, replays the
		 recording through governors as they are in the kernel, and compares their
		 sleep, latency and energy in one table. It explains single decisions, compares
		 governors on the running machine, simulates workloads, and boots kernels with
		 other governors on virtual machines.
		 .
		 The package has an example recording: /usr/share/doc/idlewise/tests/data.
	END
	chmod 644 "$root"/DEBIAN/*
	find "$root" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +
	dpkg-deb --root-owner-group -Zxz --build "$root" "$out/$name.deb" >/dev/null
	rm -r "$root"
	say "$name.deb: $(stat -c %s "$out/$name.deb") bytes"
	command -v lintian >/dev/null || {
		notes+=("not tried: lintian (not installed)")
		return 0
	}
	# A package that is not Debian's closes no bug of Debian's; who hands it on sets MAINTAINER.
	local quiet=initial-upload-closes-no-bugs
	[ -n "${MAINTAINER-}" ] || quiet+=,bogus-mail-host,bogus-mail-host-in-debian-changelog
	lintian --allow-root --suppress-tags $quiet --fail-on error,warning "$out/$name.deb" >&2
}

rm -rf "$out"
mkdir -p "$out"
here=$(uname -m)-unknown-linux-gnu
tools/package-build.sh "$here"
describe=target/$here/release/idlewise
for target in x86_64-unknown-linux-gnu aarch64-unknown-linux-gnu; do
	machine=${target%%-*}
	strip=strip
	if [ "$target" != "$here" ]; then
		status=0
		tools/package-build.sh "$target" || status=$?
		if [ "$status" = 3 ]; then
			notes+=("not made: packages for $machine (no toolchain here)")
			continue
		fi
		[ "$status" = 0 ] || exit "$status"
		strip=$machine-linux-gnu-strip
	fi
	archive "$target" "$machine"
	case $machine in x86_64) debian "$target" amd64 ;; *) debian "$target" arm64 ;; esac
done
(cd "$out" && sha256sum idlewise* >SHA256SUMS)

tools/package-test.sh "$out/idlewise_${version}_$(dpkg --print-architecture).deb" || {
	[ $? = 3 ] || exit 1
	notes+=("not tried: the Debian package in a fresh root (debootstrap as root, and a mirror, are needed)")
}
foreign=target/aarch64-unknown-linux-gnu/release/idlewise
if [ "$here" != aarch64-unknown-linux-gnu ] && [ -x "$foreign" ]; then
	tools/same-under-qemu.sh "target/$here/release/idlewise" "$foreign" || {
		[ $? = 3 ] || exit 1
		notes+=("not tried: aarch64 under qemu-user (qemu-aarch64-static is needed)")
	}
fi
[ ${#notes[@]} -eq 0 ] || printf '%s\n' "${notes[@]}"
cat "$out/SHA256SUMS"
