# SPDX-License-Identifier: GPL-2.0-only
"""Which parameters of a sweep matter, by SALib."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from typing import Any

# With fewer drawn settings RBD-FAST, which needs some twenty for each harmonic that it looks at (ten), has no interval.
LEAST_SETTINGS = 64
# With so many settings for each value of a parameter, the means at its values say more than the order, which RBD-FAST looks at.
PER_VALUE = 8
RESAMPLED = 200


def sensitivity(
    report: dict[str, Any], measure: str = "energy", governor: str | None = None, seed: int = 0
) -> list[dict[str, Any]]:
    """How much each parameter of `governor` moves `measure`, over the settings of a sweep.

    `s1` is the first-order Sobol index, the share of the measure's variance that the parameter explains alone. What remains to 1 is
    of parameters together. Where the sweep ran every combination of the parameters' values, it is exact for these values, and
    `s1_half_width` is 0. Of drawn settings it is an estimate, and `s1_half_width` that of its 95 % interval by resampling settings: by
    RBD-FAST, and by the means at its values (adjusted correlation ratio) for a parameter of so few values that each has eight settings.
    """
    if report.get("schema", "").split("/")[0] != "idlewise.sweep":
        raise ValueError("sensitivity is of a sweep: idlewise.sweep(..., sample=200)")
    governors = [g["governor"] for g in report["governors"]]
    if governor is None and len(governors) > 1:
        raise ValueError(f"name the governor: one of {', '.join(governors)}")
    name = governor or governors[0]
    if name not in governors:
        raise ValueError(f"governor {name!r}: the sweep has {', '.join(governors)}")
    rows: list[tuple[dict[str, str], float]] = []
    for setting in report["settings"][1:]:
        means = {c["measure"]: c["mean"] for c in setting["changes"]}
        if measure not in means:
            raise ValueError(f"measure {measure!r}: expected one of {', '.join(means)}")
        if setting["governor"] == name and means[measure] is not None:
            rows.append((setting["parameters"], means[measure]))
    if not rows:
        raise ValueError(f"{name}: no setting has a value of {measure}")
    parameters = [p for p in rows[0][0] if len({values[p] for values, _ in rows}) > 1]
    if not parameters:
        raise ValueError(f"{name}: no parameter takes more than one value")
    values = [[_number(p, setting[p]) for p in parameters] for setting, _ in rows]
    changes = [mean for _, mean in rows]
    if max(changes) == min(changes):
        return [{"parameter": p, "s1": 0.0, "s1_half_width": 0.0} for p in parameters]
    every = math.prod(len(set(column)) for column in zip(*values, strict=True))
    if len({tuple(point) for point in values}) == len(values) == every:
        out = [{"parameter": p, "s1": _explained(column, changes), "s1_half_width": 0.0}
               for p, column in zip(parameters, zip(*values, strict=True), strict=True)]
    else:
        out = _estimated(parameters, values, changes, seed)
    return sorted(out, key=lambda row: -row["s1"])


def _explained(values: Sequence[float], changes: list[float]) -> float:
    """The variance of the means at each value, as a share of all."""
    at: dict[float, list[float]] = {}
    for value, change in zip(values, changes, strict=True):
        at.setdefault(value, []).append(change)
    return statistics.pvariance([statistics.fmean(of) for of in at.values()]) / statistics.pvariance(changes)


def _estimated(parameters: list[str], values: list[list[float]], changes: list[float], seed: int) -> list[dict[str, Any]]:
    if len(values) < LEAST_SETTINGS:
        raise ValueError(
            f"{len(values)} settings, not all combinations of the values: at least {LEAST_SETTINGS} are needed (sample=200)"
        )
    try:
        from SALib.analyze import rbd_fast
    except ImportError as e:
        raise ImportError("sensitivity of drawn settings needs SALib: pip install SALib") from e
    import numpy

    # It sorts by each parameter, so that settings which share a value would stay in the order in which they were drawn.
    order = numpy.random.default_rng(seed).permutation(len(values))
    points, outputs = numpy.array(values)[order], numpy.array(changes)[order]
    bounds = [[low, high] for low, high in zip(points.min(axis=0), points.max(axis=0), strict=True)]
    problem = {"num_vars": len(parameters), "names": parameters, "bounds": bounds}
    found = rbd_fast.analyze(problem, points, outputs, seed=seed)
    out = []
    for number, parameter in enumerate(parameters):
        s1, half = float(found["S1"][number]), float(found["S1_conf"][number])
        if len(values) >= PER_VALUE * len(set(points[:, number])):
            s1, half = _of_few_values(points[:, number], outputs, seed)
        out.append({"parameter": parameter, "s1": s1, "s1_half_width": half})
    return out


def _of_few_values(column: Any, outputs: Any, seed: int) -> tuple[float, float]:
    """The share that a parameter of few values explains, without what chance alone would, and the half width of its 95 % interval."""
    import numpy

    def explained(rows: Any) -> float:
        values, changes = list(column[rows]), list(outputs[rows])
        spare = len(changes) - len(set(values))
        if spare <= 0 or max(changes) == min(changes):
            return 0.0
        return 1.0 - (1.0 - _explained(values, changes)) * (len(changes) - 1) / spare

    every, rng = numpy.arange(len(outputs)), numpy.random.default_rng(seed)
    again = [explained(rng.choice(every, len(every))) for _ in range(RESAMPLED)]
    return explained(every), 1.96 * statistics.stdev(again)


def _number(parameter: str, value: str) -> float:
    try:
        return float(int(value, 0))
    except ValueError:
        raise ValueError(f"{parameter}={value}: sensitivity needs whole numbers") from None
