#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# The Python package as a wheel, tried in an empty environment: wheel.sh FOLDER
set -eu -o pipefail
cd "$(dirname "$0")/.."

to=$(realpath -m "${1:?usage: wheel.sh FOLDER}") builder=$PWD/target/python-maturin
tools/python-packages.sh "$builder" maturin maturin==1.16.0
[ -x "$builder/bin/maturin" ] || exit 2
rm -rf "$to"
(cd python && CARGO_TARGET_DIR=../target "$builder/bin/maturin" build --release --out "$to")
empty=$(mktemp -d)
trap 'rm -rf "$empty"' EXIT
python3 -m venv "$empty"
"$empty/bin/pip" install -q --disable-pip-version-check --no-index "$to"/idlewise-*.whl
recording=$PWD/tests/data/sleeploop.dat
cd "$empty"
bin/python -c "import idlewise; print(idlewise.replay('$recording', governor='menu,teo'))"
ls -lh "$to"
