#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Governors among all others in simulations: closed-loop.py GOVERNORS [IDLEWISE [OPTION...]]

In how many cells of workload and machine is none of the governors of Linux better than one both in power and in the workload's own
measure, and in how many is it so against menu or teo? Better means by more than half of the 95 % interval of the differences, paired
by seed. GOVERNORS is a list with commas; the cells in which the first one is beaten are named. OPTIONs are those of simulate.
"""

import csv
import io
import math
import statistics
import subprocess
import sys
from collections import defaultdict

OTHERS = (
    "menu menu-6.1 teo teo-5.6 teo-6.1 teo-6.6 teo-fixed teo-util teo-util-v1 teo-weighted ladder haltpoll shallow deepest"
).split()
MACHINES = (
    "pixel6 rk3399 hikey960 mt8196 skylake-sp haswell-ep sapphire-rapids zen-server jasper-lake meteor-lake lx2160a imx8mm"
).split()
# Of each workload what it measures itself, and whether less (1) or more (-1) of it is better.
MEASURES = {
    "frames": ("frames ui", "time mean", 1),
    "periodic": ("task control", "wakeup latency mean", 1),
    "pingpong": ("task ping", "response mean", 1),
    "reads": ("device nvme0n1", "IOPS", -1),
    "requests": ("requests clients", "latency mean", 1),
    "timer": ("device dm-slow", "IOPS", -1),
    "web": ("frames scroll", "time mean", 1),
}
SEEDS, T = 5, 2.776  # Student's t of 4 degrees of freedom, 95 %

governors = {word.partition("@")[0].partition(":")[0]: word for word in sys.argv[1].split(",")}
idlewise = sys.argv[2] if len(sys.argv) > 2 else "idlewise"


def better(a, b):
    """Whether a is less than b in power and in the measure, by more than chance."""
    for x, y in zip(a, b, strict=True):
        differences = [x[seed] - y[seed] for seed in x]
        half = T * statistics.stdev(differences) / math.sqrt(len(differences))
        if statistics.mean(differences) >= -max(half, 1e-9):
            return False
    return True


first = next(iter(governors))
unbeaten, wins, power = (defaultdict(list) for _ in range(3))
for workload, (about, measure, sign) in MEASURES.items():
    for machine in MACHINES:
        names = [*OTHERS, *(word for name, word in governors.items() if name not in OTHERS)]
        command = [idlewise, "simulate", workload, "--platform", machine, "--governor", ",".join(names), *sys.argv[3:]]
        command += ["--seconds", "5", "--repeat", str(SEEDS), "--format", "csv"]
        out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        runs = defaultdict(lambda: ({}, {}))
        for row in csv.DictReader(io.StringIO(out)):
            if (row["about"], row["name"]) == ("energy", "power"):
                runs[row["governor"]][0][row["seed"]] = float(row["value"])
            elif (row["about"], row["name"]) == (about, measure):
                runs[row["governor"]][1][row["seed"]] = sign * float(row["value"])
        for name in governors:
            beaten_by = [other for other in OTHERS if other != name and better(runs[other], runs[name])]
            unbeaten[name].append(not beaten_by)
            wins[name].append(any(better(runs[name], runs[other]) for other in ("menu", "teo") if other != name))
            power[name].append(statistics.mean(runs[name][0].values()) / statistics.mean(runs["menu"][0].values()))
            if beaten_by and name == first:
                print(f"{workload} on {machine}: better in both are {', '.join(beaten_by)}", flush=True)
for name in governors:
    shares = [100 * statistics.mean(list_[name]) for list_ in (unbeaten, wins)]
    change = 100 * (statistics.geometric_mean(power[name]) - 1)
    print(f"{name}: none better in both in {shares[0]:.0f} %, better than menu or teo in {shares[1]:.0f} %, power {change:+.1f} % of menu's")
