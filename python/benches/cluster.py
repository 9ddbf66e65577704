# SPDX-License-Identifier: GPL-2.0-only
"""What does a task of a sweep on a Dask cluster cost, and how much faster are two workers than one?

cluster.py starts clusters of processes on this machine. It prints what a task costs besides what it computes: the processor's time
of client, scheduler and workers for a sweep in tasks of one setting each, without that of the same sweep in one task. Then the
same work goes to one worker and to two, in turn, and the least of both is compared. IDLEWISE_BENCH_QUICK=yes makes both small.
"""

from __future__ import annotations

import importlib.util
import json
import os
import pathlib
import sys
import tempfile
import time
import warnings
from typing import Any
from unittest import mock

ROOT = pathlib.Path(__file__).resolve().parents[2]
QUICK = os.environ.get("IDLEWISE_BENCH_QUICK") == "yes"
TASKS = 40 if QUICK else 400
ROUNDS = 1 if QUICK else 5

if importlib.util.find_spec("distributed") is None:
    print("not run: a sweep on a Dask cluster (distributed is not installed)")
    sys.exit(0)

sys.path.insert(0, str(ROOT / "python/tests"))

import idlewise.dask
import psutil
from dask_cluster import Cluster


def cpu_s(cluster: Cluster) -> dict[str, float]:
    """The processor's time of each kind of process so far."""
    used = {"client": sum(psutil.Process().cpu_times()[:2]), "scheduler": 0.0, "workers": 0.0}
    for kind, processes in (("scheduler", [cluster.scheduler]), ("workers", list(cluster.workers.values()))):
        used[kind] = sum(sum(psutil.Process(p.pid).cpu_times()[:2]) for p in processes)
    return used


def swept(cluster: Cluster, recordings: list[str], most: int, **asked: Any) -> tuple[dict[str, float], float, str]:
    """The processor's time, the time, and the lines of a sweep in tasks of so many settings."""
    with (
        tempfile.TemporaryDirectory() as to,
        mock.patch("idlewise.dask.MOST_SETTINGS", most),
        mock.patch("idlewise.dask.LEAST_SETTINGS", most),
        # But the first, which one worker alone warns of.
        mock.patch("idlewise.dask.CHECK_EVERY", 1 << 60),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")
        before, begun = cpu_s(cluster), time.monotonic()
        idlewise.dask.sweep(cluster.client, *recordings, to=to, charts=False, progress=False, **asked)
        took, after = time.monotonic() - begun, cpu_s(cluster)
        lines = "".join(file.read_text() for file in pathlib.Path(to).iterdir())
    return {kind: after[kind] - before[kind] for kind in after}, took, lines


def overhead() -> None:
    tape = str(ROOT / "corpus/kvm-quiet.tape")
    governor = f"menu:long_work_ns=1..{TASKS - 2}"
    cluster = Cluster(4)
    try:
        swept(cluster, [tape], 1, governor="menu:long_work_ns=1..20")
        alone, _, _ = swept(cluster, [tape], TASKS, governor=governor)
        parted, took, lines = swept(cluster, [tape], 1, governor=governor)
    finally:
        cluster.close()
    print(f"{TASKS} tasks of one setting each on 4 workers, which share {os.cpu_count()} cores with client and scheduler:")
    print(f"  {1000 * took / TASKS:.1f} ms a task by the clock; what a task costs besides what it computes, in processor time:")
    for kind in alone:
        print(f"  {kind:<10} {1000 * (parted[kind] - alone[kind]) / (TASKS - 1):6.2f} ms a task")
    whole = sum(parted.values()) - sum(alone.values())
    print(f"  {'together':<10} {1000 * whole / (TASKS - 1):6.2f} ms a task")
    results = [line for line in lines.splitlines() if "variant" in json.loads(line)]
    print(f"  a result has {sum(map(len, results)) / len(results):.0f} bytes")


def scaling() -> None:
    tapes = [str(file) for file in sorted((ROOT / "corpus").glob("*.tape"))[: 8 if QUICK else 40]]
    asked = {"governor": "menu:intervals=4..16", "platform": "rk3399"}
    took: dict[int, list[float]] = {1: [], 2: []}
    clusters = {n: Cluster(n) for n in took}
    try:
        for cluster in clusters.values():
            swept(cluster, tapes[:4], 4, **asked)
        for _ in range(ROUNDS):
            for n, cluster in clusters.items():
                took[n].append(swept(cluster, tapes, idlewise.dask.MOST_SETTINGS, **asked)[1])
    finally:
        for cluster in clusters.values():
            cluster.close()
    one, two = min(took[1]), min(took[2])
    print(f"{len(tapes)} recordings under 15 settings: {one:.2f} s on one worker, {two:.2f} s on two; {one / two:.2f} times as fast")


if __name__ == "__main__":
    print("load of the last minute before: {:.1f}".format(os.getloadavg()[0]))
    overhead()
    scaling()
    print("load of the last minute after: {:.1f}".format(os.getloadavg()[0]))
