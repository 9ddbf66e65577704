#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Builds the documentation's site: site.sh TO. A warning is an error, and so is a link within it that leads nowhere.
# What builds it comes from PyPI into target/site-venv, as tools/site/requirements.txt pins it.
set -eu -o pipefail
cd "$(dirname "$0")/.."

to=${1:?usage: site.sh TO}
venv=$PWD/target/site-venv
source=$PWD/target/site-source
wanted=tools/site/requirements.txt

if ! cmp -s "$wanted" "$venv/requirements.txt"; then
	echo "site.sh: installing the packages of $wanted from PyPI" >&2
	python3 -m venv --clear "$venv"
	"$venv/bin/python" -m pip install -q --disable-pip-version-check --no-deps -r "$wanted"
	cp "$wanted" "$venv/requirements.txt"
fi

# The pages have the folders that they have in the repository; the front page is the site's first.
rm -rf "$source" "$to"
while read -r file; do
	install -D -m 644 "$file" "$source/$file"
done < <(tools/doc-files.sh)
mv "$source"/{README,index}.md
cp -r tools/site/static "$source/static"

IDLEWISE_VERSION=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1) \
	"$venv/bin/sphinx-build" -q -E -W --keep-going -n -c tools/site -d target/site-doctrees "$source" "$to"
python3 tools/site/check-links.py "$to"
