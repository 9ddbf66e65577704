#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Runs a test program, unless it is one of NAMES:
#
#     unless-named.sh 'NAME|NAME...' PROGRAM ARGUMENTS...
set -eu
names=$1 program=$2
name=${program##*/}
[[ ${name%-*} =~ ^($names)$ ]] || exec "${@:2}"
