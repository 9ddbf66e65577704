#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Sees to a Python with packages from PyPI: python-packages.sh FOLDER MODULE PACKAGE==VERSION...
#
# FOLDER becomes a virtual environment in which MODULE can be imported. One that is there already, with the same versions, is left
# alone. Where it cannot be done the reason is printed and the exit status is 0: the tests that want it then say that they are
# skipped.
set -eu -o pipefail

folder=${1:?usage: python-packages.sh FOLDER MODULE PACKAGE==VERSION...} module=$2
packages=("${@:3}")

say() { echo "python-packages.sh: $*" >&2; }

works() {
	"$folder/bin/python" - "$module" "${packages[@]}" 2>/dev/null <<-'END'
		import importlib, importlib.metadata, sys
		importlib.import_module(sys.argv[1])
		for name, version in (package.split("==") for package in sys.argv[2:]):
		    assert importlib.metadata.version(name.split("[")[0]) == version
	END
}

mkdir -p "$folder"
# Python makes no environment through a link.
folder=$(realpath "$folder")
# Another clone's tests may be at it.
exec 9>"$folder/.lock"
flock 9
! works || exit 0
command -v python3 >/dev/null || {
	say "needs python3 with venv and pip"
	exit 0
}
say "installing ${packages[*]} from PyPI for the tests"
# Python compiles what is imported; the rest of what is installed is far more.
if ! { python3 -m venv --clear "$folder" && "$folder/bin/python" -m pip install -q --no-compile --disable-pip-version-check "${packages[@]}"; } >&2; then
	rm -rf "$folder/bin"
	say "cannot be installed (no network, or no venv: sudo apt-get install python3-venv)"
fi
