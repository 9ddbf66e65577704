#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Sees to a Python that reads Perfetto's traces: python-perfetto.sh FOLDER
#
# FOLDER becomes a virtual environment with Perfetto's own messages, from PyPI: the tests' second opinion.
exec "$(dirname "$0")/python-packages.sh" "${1:?usage: python-perfetto.sh FOLDER}" \
	perfetto.protos.perfetto.trace.perfetto_trace_pb2 perfetto==0.59.1 protobuf==7.36.2
