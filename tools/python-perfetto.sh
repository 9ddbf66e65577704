#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Sees to a Python that reads Perfetto's traces: python-perfetto.sh FOLDER
#
# FOLDER becomes a virtual environment with Perfetto's own messages, from PyPI: the tests' second opinion. One that is there
# already, of the same version, is left alone. Where it cannot be done the reason is printed and the exit status is 0: the tests
# that want it then say that they are skipped.
set -eu -o pipefail

folder=${1:?usage: python-perfetto.sh FOLDER}
packages=(perfetto==0.59.1 protobuf==7.36.2)

say() { echo "python-perfetto.sh: $*" >&2; }

works() {
	"$folder/bin/python" - "${packages[@]}" 2>/dev/null <<-'END'
		import sys, importlib.metadata, perfetto.protos.perfetto.trace.perfetto_trace_pb2
		for name, version in (package.split("==") for package in sys.argv[1:]):
		    assert importlib.metadata.version(name) == version
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
if ! { python3 -m venv --clear "$folder" && "$folder/bin/python" -m pip install -q --disable-pip-version-check "${packages[@]}"; } >&2; then
	rm -rf "$folder/bin"
	say "cannot be installed (no network, or no venv: sudo apt-get install python3-venv)"
fi
