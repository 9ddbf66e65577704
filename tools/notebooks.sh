#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# What a new user does: the wheel of FOLDER into an empty environment, and the first notebook in it: notebooks.sh FOLDER
#
# Fails where the notebook does not show what is stored in it, or where all of it takes more than five minutes. Packages come from PyPI.
set -eu -o pipefail
cd "$(dirname "$0")/.."

folder=${1:?usage: notebooks.sh FOLDER} limit_s=300
wheel=$(ls -t "$folder"/idlewise-*.whl | head -n 1)
empty=$(mktemp -d)
trap 'rm -rf "$empty"' EXIT
begun=$SECONDS
python3 -m venv "$empty"
"$empty/bin/pip" install -q --disable-pip-version-check "$wheel" nbclient==0.11.0 ipykernel==7.4.0
installed=$SECONDS
PYTHONPATH='' "$empty/bin/python" tools/notebooks.py docs/notebooks/which-governor.ipynb
echo "an empty environment with $(basename "$wheel"): $((installed - begun)) s; the first notebook: $((SECONDS - installed)) s"
[ $((SECONDS - begun)) -le $limit_s ] || {
	echo "notebooks.sh: more than $limit_s s" >&2
	exit 1
}
