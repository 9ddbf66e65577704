#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Sees to a Python with data frames: python-frames.sh FOLDER
#
# FOLDER becomes a virtual environment with the packages that take tables of the Python package, those of a cluster with a storage,
# what runs notebooks, and the checker of its types, from PyPI. One that is there already, with the same versions, is left alone.
# Where it cannot be done the reason is printed and the exit status is 0: the tests that want it then say that they are skipped.
exec "$(dirname "$0")/python-packages.sh" "${1:?usage: python-frames.sh FOLDER}" numpy \
	pyarrow==26.0.1 polars==2.1.0 pandas==3.1.1 duckdb==2.0.1 numpy==2.4.6 tqdm==4.70.1 optuna==5.0.0 salib==1.6.0 mypy==2.4.1 \
	matplotlib==3.11.2 nbclient==0.11.0 ipykernel==7.4.0 \
	distributed==2026.8.0 fsspec==2026.9.0 s3fs==2026.9.0 moto[s3]==5.2.5 flask==3.1.3 flask-cors==6.0.5 trustme==1.2.1
