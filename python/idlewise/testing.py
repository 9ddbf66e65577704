# SPDX-License-Identifier: GPL-2.0-only
"""Tests of governors: `assert idlewise.testing.check(Mine).same`."""

from __future__ import annotations

from collections.abc import Iterable

from . import _commands
from ._call import Progress, Value
from ._result import Result

PROPERTIES = ("crash", "index", "disabled", "latency", "polling", "shallow", "repeatable", "independent")
"""Those of docs/guide/check.md that are not about code in C."""


def check(
    governor: Value,
    *,
    property: Value | Iterable[Value] = PROPERTIES,
    seconds: Value | None = None,
    seed: Value = 1,
    progress: Progress = None,
) -> Result:
    """Looks for idle periods on which a governor violates what every governor must keep (docs/guide/check.md).

    `same` of the result is true where none was found; else its text shows the shortest sequence that leads to each
    violation, as a story. An exception of the governor, or an answer that is no state, is one: `crash`.

    governor: A class or an object as `idlewise.Governor` describes, or a governor's name.
    property: The properties to check.
    seconds: Draw new sequences for so long; None: a fixed number, and the same seed gives the same result.
    seed: Which sequences are drawn.
    progress: Called with (what, done, of); None: a bar on terminals and in notebooks; False: nothing.
    """
    return _commands.check(governor, property=property, seconds=seconds, seed=seed, progress=progress)
