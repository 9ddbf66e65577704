#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Installs the built command, or removes what it installed:
#   install.sh install BINARY      below $DESTDIR$PREFIX, /usr/local if PREFIX is not set
#   install.sh uninstall
# The manual pages and completions are written by the command itself. A binary of another architecture cannot do that
# here: DESCRIBE names one that can. NO_STRIP=1 keeps the symbols; NOTICES_LATER=1 says that the caller adds the notices of libraries.
set -eu -o pipefail
cd "$(dirname "$0")/.."

prefix=${PREFIX-/usr/local}
root=${DESTDIR-}$prefix
man=$root/share/man/man1
doc=$root/share/doc/idlewise
data=$root/share/idlewise
bash_completion=$root/share/bash-completion/completions/idlewise
zsh_completion=$root/${ZSH_FOLDER:-share/zsh/site-functions}/_idlewise
fish_completion=$root/share/fish/vendor_completions.d/idlewise.fish

die() {
	echo "install.sh: $*" >&2
	exit 2
}

put() { # MODE FILE TO
	install -D -m "$1" "$2" "$3"
}

install_all() { # BINARY
	local binary=$1 described file
	[ -x "$binary" ] || die "$binary is not there: run make first, as yourself; then make install, as root"
	described=$(mktemp -d)
	# shellcheck disable=SC2064
	trap "rm -rf '$described'" EXIT
	"${DESCRIBE:-$binary}" self-describe "$described"

	put 755 "$binary" "$root/bin/idlewise"
	[ -n "${NO_STRIP-}" ] || "${STRIP:-strip}" --strip-unneeded "$root/bin/idlewise"
	for file in "$described"/man/*.1; do
		put 644 "$file" "$man/${file##*/}"
		echo "${file##*/}" >>"$described/manual-pages"
	done
	put 644 "$described/manual-pages" "$data/manual-pages"
	# Written by make, or by the packager.
	if [ -e "${binary%/*}/third-party-notices.txt" ]; then
		put 644 "${binary%/*}/third-party-notices.txt" "$doc/third-party-notices.txt"
	elif [ -z "${NOTICES_LATER-}" ]; then
		echo "install.sh: without third-party-notices.txt, the notices of the libraries in the command (tools/third-party.py)" >&2
	fi
	put 644 "$described/completions/idlewise.bash" "$bash_completion"
	put 644 "$described/completions/_idlewise" "$zsh_completion"
	put 644 "$described/completions/idlewise.fish" "$fish_completion"
	for file in platforms/*.toml workloads/*.json; do
		put 644 "$file" "$data/$file"
	done
	# The pages keep their places, so that the links between them lead to the same files, and so that the commands in the
	# guides work in this folder.
	while read -r file; do
		put 644 "$file" "$doc/$file"
	done < <(tools/doc-files.sh)
}

# Folders that other programs use too stay.
uninstall_all() {
	local page
	# Pages of other programs that begin with our name stay.
	while read -r page; do
		rm -f "$man/${page##*/}"
	done < <(cat "$data/manual-pages" 2>/dev/null || true)
	rm -f "$root/bin/idlewise" "$bash_completion" "$zsh_completion" "$fish_completion"
	rm -rf "$doc" "$data"
}

case "${1-} ${2-}" in
"install "?*) install_all "$2" ;;
"uninstall ") uninstall_all ;;
*) die "usage: install.sh install BINARY | uninstall" ;;
esac
