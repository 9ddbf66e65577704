#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Sees to a Python with data frames: python-frames.sh FOLDER
#
# FOLDER becomes a virtual environment with the packages that take tables of the Python package, the checker of its types, and
# what runs notebooks, from PyPI. One that is there already, with the same versions, is left alone. Where it cannot be done the reason is printed and
# the exit status is 0: the tests that want it then say that they are skipped.
exec "$(dirname "$0")/python-packages.sh" "${1:?usage: python-frames.sh FOLDER}" numpy \
	pyarrow==26.0.1 polars==2.1.0 pandas==3.1.1 duckdb==2.0.1 numpy==2.4.6 tqdm==4.70.1 optuna==5.0.0 salib==1.6.0 mypy==2.4.1 \
	matplotlib==3.11.2 nbclient==0.11.0 ipykernel==7.4.0
