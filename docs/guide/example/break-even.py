#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""What if idle states pay earlier or later than their target residency says? break-even.py GOVERNORS [IDLEWISE]

Replays the recordings of corpus/ on machines whose powers are derived, on platform files in which entering and leaving each state
takes a third, a half, once and twice what makes its target residency the break-even. Idle energy against the first governor, the
geometric mean.
"""

import csv
import re
import statistics
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

DERIVED = "weights that fall geometrically"
RUNNING = 10  # relative power of a running CPU on these machines

governors = sys.argv[1]
idlewise = sys.argv[2] if len(sys.argv) > 2 else "idlewise"


def run(*words):
    return subprocess.run([idlewise, *words], capture_output=True, text=True, check=True).stdout


def other(machine, times):
    """The machine's platform file with other transitions."""
    transitions, cluster, section, lines = {}, "", "", []
    for line in run("platform", "show", machine).splitlines():
        if found := re.match(r"cluster (\S+):", line):
            cluster = found[1]
        if found := re.match(r"\s+\d+ (\S+)\s.* ([\d.]+) rel s", line):
            transitions[cluster, found[1]] = float(found[2])
    for line in run("platform", "show", machine, "--toml").splitlines():
        lines.append(line)
        section = line.strip("[]") if line.startswith("[") else section
        name = re.match(r'name = "(.*)"', line)
        if name and section == "cluster":
            cluster = name[1]
        if name and section == "cluster.state" and (energy := transitions.get((cluster, name[1]))):
            lines.append(f"transition_us = {max(round(energy / RUNNING * 1e6 * times), 1)}")
    return "\n".join(lines)


machines = defaultdict(list)
for line in csv.DictReader(run("corpus", "run", "--governor", governors, "--format", "csv").splitlines()):
    if line["recording"] not in machines[line["machine"]]:
        machines[line["machine"]].append(line["recording"])
machines = {m: all for m, all in machines.items() if DERIVED in " ".join(run("platform", "show", m).split())}
print(f"{sum(map(len, machines.values()))} recordings of {len(machines)} machines")
for times in (1 / 3, 1 / 2, 1, 2):
    ratios = defaultdict(list)
    with tempfile.TemporaryDirectory() as folder:
        for machine, recordings in machines.items():
            file = Path(folder, f"{machine}.toml")
            file.write_text(other(machine, times))
            for recording in recordings:
                result = run("replay", f"corpus/{recording}.tape", "--platform", str(file), "--governor", governors, "--format", "csv")
                energy = {row["governor"]: float(row["energy"]) for row in csv.DictReader(result.splitlines())}
                base = energy[next(iter(energy))]
                for name, value in energy.items():
                    ratios[name].append(value / base)
    print(f"{times:.2f} times:", ", ".join(f"{n} {100 * (statistics.geometric_mean(r) - 1):+.1f} %" for n, r in ratios.items()))
