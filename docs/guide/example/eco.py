#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""A governor compared with the better of menu and teo, recording by recording: eco.py GOVERNOR FILE.csv...

The files are results of `idlewise corpus run` or `idlewise replay` with --format csv, of menu, teo and the governor. The better is
the one with less idle energy on that recording and machine.
"""

import csv
import statistics
import sys
from collections import defaultdict

governor, files = sys.argv[1], sys.argv[2:]
groups = defaultdict(list)
for number, name in enumerate(files):
    cells = defaultdict(dict)
    with open(name, newline="") as file:
        for row in csv.DictReader(file):
            if row.get("part", "all") == "all" and row.get("trace") != "all traces" and row["regret_pct"]:
                cells[row.get("recording") or row["trace"]][row["governor"]] = row
    for recording, cell in cells.items():
        if governor in cell:
            groups[cell[governor].get("split") or "as replayed"].append((f"{recording} {name}", cell))


def value(row, column):
    return float(row[column] or 0)


for group, cells in groups.items():
    rows = []
    for name, cell in cells:
        better = min((cell["menu"], cell["teo"]), key=lambda row: value(row, "regret_pct"))
        ours = cell[governor]
        regrets = value(ours, "regret_pct"), value(better, "regret_pct")
        changes = [value(ours, c) / max(value(better, c), 1) - 1 for c in ("latency_mean_ns", "latency_p99_ns")]
        rows.append((*regrets, regrets[0] - regrets[1], *changes, value(ours, "too_deep_pct") - value(better, "too_deep_pct"), name))
    medians = [statistics.median(row[i] for row in rows) for i in range(6)]
    lower = 100 * sum(row[2] < 0 for row in rows) / len(rows)
    worst = max(rows, key=lambda row: row[2])
    print(f"{group}: {len(rows)} recordings, median regret {medians[0]:.1f} %, of the better {medians[1]:.1f} %")
    print(f"  lower in {lower:.0f} %; at worst {worst[2]:+.1f} points ({worst[6]}); more than 5 points in {sum(row[2] > 5 for row in rows)}")
    higher = [sum(row[column] > 0.1 for row in rows) for column in (3, 4)]
    print(f"  latency {100 * medians[3]:+.1f} % in the median; mean 10 % higher in {higher[0]}, p99 in {higher[1]}; too deep {medians[5]:+.2f}pp")
    if not all("loop_energy" in row for _, cell in cells for row in cell.values()):
        continue
    for factor in (0.3, 1, 6):
        energies = [
            {name: value(row, "energy") + (factor - 1) * value(row, "loop_energy") for name, row in cell.items()} for _, cell in cells
        ]
        ratio = statistics.geometric_mean(e[governor] / e["menu"] for e in energies)
        lower = 100 * statistics.mean(e[governor] < min(e["menu"], e["teo"]) for e in energies)
        print(f"  the idle loop {factor} times: {100 * (ratio - 1):+.1f} % energy against menu, lower than the better in {lower:.0f} %")
