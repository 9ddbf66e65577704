# SPDX-License-Identifier: GPL-2.0-only
"""Which parameters of a sweep matter, by SALib."""

from __future__ import annotations

from typing import Any

# With fewer settings the indices are mostly noise.
LEAST_SETTINGS = 32


def sensitivity(
    report: dict[str, Any], measure: str = "energy", governor: str | None = None, seed: int = 0
) -> list[dict[str, Any]]:
    """How much each parameter of `governor` moves `measure`, over the settings of a sweep.

    `s1` is the first-order Sobol index, the share of the measure's variance that the parameter explains alone, by RBD-FAST;
    `s1_half_width` is that of its 95 % interval. What remains to 1 is of parameters together.
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
    if len(rows) < LEAST_SETTINGS:
        raise ValueError(f"{len(rows)} settings of {name}: at least {LEAST_SETTINGS} are needed (sample=200)")
    parameters = [p for p in rows[0][0] if len({values[p] for values, _ in rows}) > 1]
    if not parameters:
        raise ValueError(f"{name}: no parameter takes more than one value")
    try:
        from SALib.analyze import rbd_fast
    except ImportError as e:
        raise ImportError("sensitivity needs SALib: pip install SALib") from e
    import numpy

    points = numpy.array([[_number(p, values[p]) for p in parameters] for values, _ in rows])
    changes = numpy.array([mean for _, mean in rows])
    if numpy.ptp(changes) == 0.0:
        return [{"parameter": p, "s1": 0.0, "s1_half_width": 0.0} for p in parameters]
    bounds = [[low, high] for low, high in zip(points.min(axis=0), points.max(axis=0), strict=True)]
    problem = {"num_vars": len(parameters), "names": parameters, "bounds": bounds}
    found = rbd_fast.analyze(problem, points, changes, seed=seed)
    columns = zip(parameters, found["S1"], found["S1_conf"], strict=True)
    out = [{"parameter": p, "s1": float(s1), "s1_half_width": float(half)} for p, s1, half in columns]
    return sorted(out, key=lambda row: -row["s1"])


def _number(parameter: str, value: str) -> float:
    try:
        return float(int(value, 0))
    except ValueError:
        raise ValueError(f"{parameter}={value}: sensitivity needs whole numbers") from None
