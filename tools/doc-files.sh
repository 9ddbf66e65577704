#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Prints the files of the documentation, a line each: the pages, and the files that they link to. They are what is
# installed and what the site is made of; with the same folders, so that the same links work in all places.
set -eu
cd "$(dirname "$0")/.."

{
	ls README.md ARCHITECTURE.md CHANGELOG.md CONTRIBUTING.md LICENSE SKILL.md benches/README.md
	find contrib -type f
	ls tests/stories/README.md tests/data/README.md tests/data/mixed.dat tests/data/mixed.toml
	find docs governors signals kernel/modules -type f \( -name '*.md' -o -name '*.[ch]' -o -name '*.json' \
		-o -name '*.png' -o -name '*.svg' -o -name '*.ipynb' -o -name '*.mbox' -o -name '*.py' -o -name matplotlibrc -o -name 'K*' \) ! -path 'governors/shim/*' ! -name '*.mod.c'
} | LC_ALL=C sort
