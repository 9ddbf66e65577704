#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Judges the recordings that guests.sh made, as a Markdown table on standard output:

    guests.py IDLEWISE FOLDER [KERNEL/GOVERNOR=NAME ...]

IDLEWISE is the command, FOLDER has KERNEL/LOAD-GOVERNOR.dat. 6.1/menu=menu-6.1 names the governor here that stands for that kernel's;
by default `idlewise info` finds it. A row is a recording, or all of a kernel and governor together: the share of the kernel's choices that a
replay repeats from stock events, the choices repeated from true inputs, and for each input how many values that the tape grades
recorded or derived are wrong.
"""

import json
import pathlib
import subprocess
import sys

INPUTS = ["sleep length", "next event with the tick", "tick stopped", "iowait", "latency limit"]


def judged(idlewise, trace, governor):
    command = [idlewise, "info", str(trace), "--format", "json"]
    if governor:
        command += ["--kernel-governor", governor]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"guests.py: {' '.join(command)}: {done.stderr.strip()}")
    return json.loads(done.stdout)["replayed"]


class Row:
    def __init__(self, names):
        self.names = names
        self.compared = self.left_out = self.same = self.tick = self.tick_same = 0
        self.true = self.true_same = 0
        self.inputs = {name: [0, 0] for name in INPUTS}

    def of(self, result):
        fidelity = result["fidelity"]
        self.compared = fidelity.get("decisions", 0)
        self.left_out = fidelity.get("unknown_memory", 0)
        self.same = self.compared * (fidelity.get("same_state_pct") or 0) / 100
        self.tick = fidelity.get("tick_known", 0)
        self.tick_same = self.tick * (fidelity.get("same_tick_pct") or 0) / 100
        for parity in result.get("parity", []):
            self.true += parity["result"].get("decisions", 0)
            self.true_same += parity["result"].get("same", 0)
        for accuracy in result.get("true_inputs", []):
            if accuracy["name"] in self.inputs:
                self.inputs[accuracy["name"]] = [accuracy["graded_wrong"], accuracy["graded"]]
        return self

    def add(self, other):
        for field in ["compared", "left_out", "same", "tick", "tick_same", "true", "true_same"]:
            setattr(self, field, getattr(self, field) + getattr(other, field))
        for name, counts in other.inputs.items():
            self.inputs[name] = [a + b for a, b in zip(self.inputs[name], counts)]

    def cells(self):
        def percent(part, whole):
            return f"{100 * part / whole:.2f}" if whole else "?"

        inputs = [f"{wrong} of {graded}" if graded else "?" for wrong, graded in self.inputs.values()]
        true = f"{self.true_same} of {self.true}" if self.true else "?"
        return [*self.names, self.compared, self.left_out, percent(self.same, self.compared), percent(self.tick_same, self.tick), true, *inputs]


def line(cells):
    print("| " + " | ".join(str(cell) for cell in cells) + " |", flush=True)


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    idlewise, folder, *pairs = sys.argv[1:]
    named = dict(pair.split("=", 1) for pair in pairs)
    head = ["kernel", "governor", "load", "compared", "not compared", "state %", "tick %", "from true inputs", *INPUTS]
    line(head)
    line(["---"] * len(head))
    for kernel in sorted(p for p in pathlib.Path(folder).iterdir() if p.is_dir() and p.name[0].isdigit()):
        governors = sorted({trace.stem.split("-")[1] for trace in kernel.glob("*-*.dat")})
        for governor in governors:
            total = Row([kernel.name, governor, "**all**"])
            for trace in sorted(kernel.glob(f"*-{governor}.dat")):
                result = judged(idlewise, trace, named.get(f"{kernel.name}/{governor}"))
                row = Row([kernel.name, governor, trace.stem.split("-")[0]]).of(result)
                line(row.cells())
                total.add(row)
            line(total.cells())


if __name__ == "__main__":
    main()
