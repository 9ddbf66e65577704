#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Sees to Prometheus' programs: prometheus.sh FOLDER
#
# FOLDER becomes a folder with prometheus, promtool and prometheus-node-exporter: links to those that are installed, else to those of
# Debian's packages, which are unpacked below FOLDER. They are not installed, since their packages start services. Exit status 1
# where they cannot be had.
set -eu -o pipefail

folder=${1:?usage: prometheus.sh FOLDER}
programs=(prometheus promtool prometheus-node-exporter)
mkdir -p "$folder"
folder=$(realpath "$folder")

there() {
	local program
	for program in "${programs[@]}"; do [ -x "$folder/$program" ] || return 1; done
}

there && exit 0
for program in "${programs[@]}"; do
	! found=$(command -v "$program") || ln -sf "$found" "$folder/$program"
done
there && exit 0
command -v apt-get >/dev/null && command -v dpkg-deb >/dev/null || {
	echo "prometheus.sh: needs prometheus and prometheus-node-exporter in the path, or Debian's apt-get and dpkg-deb" >&2
	exit 1
}
echo "prometheus.sh: unpacking Debian's prometheus and prometheus-node-exporter into $folder" >&2
(cd "$folder" && apt-get download -qq prometheus prometheus-node-exporter) >&2 || {
	echo "prometheus.sh: cannot be downloaded (no network, or apt-get update is needed)" >&2
	exit 1
}
for package in "$folder"/*.deb; do
	dpkg-deb -x "$package" "$folder/root"
	rm "$package"
done
for program in "${programs[@]}"; do
	ln -sf "root/usr/bin/$program" "$folder/$program"
done
there
