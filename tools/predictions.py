#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Writes what a folder of experiments without published numbers predicts, as one CSV:

    predictions.py IDLEWISE FOLDER OUT [SAMPLES [SEED]]

IDLEWISE is the command, FOLDER has the experiments. Their samples of what is not known are drawn anew, next to them: all of the
ranges, since nothing is fitted. A row of OUT is a cell of an experiment: the quantity in its unit, with the middle 90 % of the
samples, and its change against the experiment's first column. A sign is that of the median change: + or -, 0 where it is below
0.5 (per cent, or points where the unit is %); the sign is `sure` where the 90 % agree. Column names are `GOVERNOR, KERNEL`, row
names `QUANTITY; GRID = VALUE`; a column may have a value of the grid, too. The same input gives the same bytes.
"""

import csv
import hashlib
import io
import pathlib
import subprocess
import sys
import tomllib

NONE = 0.5
HEAD = ["test", "experiment", "kernel", "governor", "stand_in", "quantity", "at", "unit", "median", "low", "high",
        "reference", "sign", "sure", "change", "change_low", "change_high", "change_unit"]


def stop(why):
    sys.exit(f"predictions.py: {why}")


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        stop(f"{' '.join(command)}: {done.stderr.strip()}")
    return done.stdout


def digits(number):
    return f"{number:.4g}"


def named(column):
    name, _, at = column.partition("; ")
    governor, _, kernel = name.partition(", ")
    return governor, kernel, [at] if at else []


def sample_of(row, column):
    """Whether a row about one sample of time is this column's: `sample = 10 to 20 s` ends with `0 to 20 s`."""
    _, found, at = row.partition("sample = ")
    return not found or at.split(" to ")[1] == column.rsplit(" to ", 1)[-1]


def cells(experiment, text):
    governors = {c["name"]: c["setup"].get("governor", experiment["setup"].get("governor", "")) for c in experiment["column"]}
    first = next(c["name"] for c in experiment["column"] if c.get("baseline"))
    for cell in csv.DictReader(io.StringIO(text)):
        row, column = cell["row"], cell["column"]
        if not cell["ours"] or not sample_of(row, column):
            continue
        governor, kernel, of_column = named(column)
        quantity, *at = row.split("; ")
        at += [] if "sample = " in row else of_column
        points = cell["unit"] == "%"
        change = [float(cell[k]) for k in ("change", "change_low", "change_high") if cell[k]]
        # Samples of time have no column of their own that they change against.
        is_change = column != first and len(change) == 3 and "sample = " not in row
        sign = sure = ""
        if is_change:
            median, low, high = change
            sign = "0" if abs(median) < NONE else "+" if median > 0 else "-"
            agrees = {"0": max(abs(low), abs(high)) < NONE, "+": low > 0, "-": high < 0}[sign]
            sure = "yes" if agrees else "no"
        yield [experiment["document"]["tables"], experiment["id"], kernel, governor, governors[column], quantity, ", ".join(at),
               cell["unit"], *(digits(float(cell[k])) for k in ("ours", "ours_low", "ours_high")),
               first if is_change else "", sign, sure, *(map(digits, change) if is_change else ("", "", "")),
               ("points" if points else "%") if is_change else ""]


def main(idlewise, folder, out, samples="32", seed="1"):
    every = sorted(p for p in pathlib.Path(folder).glob("*.toml") if not p.name.endswith(".samples.toml"))
    files = [p for p in every if "column" in tomllib.loads(p.read_text())]
    if not files:
        stop(f"{folder}: no experiments there")
    rows = []
    for n, path in enumerate(files, 1):
        print(f"{n} of {len(files)}: {path.name}", file=sys.stderr)
        run(idlewise, "reproduce", str(path), "--draw", "--samples", samples, "--seed", seed, "--force")
        rows += cells(tomllib.loads(path.read_text()), run(idlewise, "reproduce", str(path), "--format", "csv"))
    inputs = hashlib.sha256()
    for path in every:
        inputs.update(path.name.encode() + b"\0" + path.read_bytes())
    text = io.StringIO()
    text.write("# SPDX-License-Identifier: GPL-2.0-only\n"
               f"# Made by: tools/predictions.py target/release/idlewise {folder} {out} {samples} {seed}\n"
               f"# seed {seed}, {samples} samples of what is not known; {run(idlewise, '--version').splitlines()[0]}\n"
               f"# sha256 of the {len(every)} files of {folder}: {inputs.hexdigest()}\n")
    table = csv.writer(text, lineterminator="\n")
    table.writerow(HEAD)
    table.writerows(rows)
    pathlib.Path(out).write_text(text.getvalue())


if __name__ == "__main__":
    if not 4 <= len(sys.argv) <= 6:
        stop("expected IDLEWISE FOLDER OUT [SAMPLES [SEED]]")
    main(*sys.argv[1:])
