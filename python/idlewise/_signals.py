# SPDX-License-Identifier: GPL-2.0-only
"""PELT and WALT of a task's running intervals."""

from __future__ import annotations

import re
from array import array
from typing import Any

from . import _idlewise


def pelt(start_ns: Any, end_ns: Any, at_ns: Any, *, kernel: str = "6.12", half_life_ms: int = 32) -> array[int]:
    """PELT's utilisation of a task, 0 to 1024, at the times `at_ns`.

    The task runs from each start to the end of the same place, on a CPU at full speed, and sleeps otherwise. Times are ns:
    arrays of 64-bit integers (numpy, array) or sequences of integers. The result is an array of 32-bit numbers, which
    numpy.asarray takes without a copy.

    kernel: the version whose PELT it is, 4.3 or later.
    half_life_ms: 8, 16 or 32 periods of 1.048576 ms.
    """
    if half_life_ms not in (8, 16, 32):
        raise ValueError(f"half_life_ms {half_life_ms!r}: expected 8, 16 or 32")
    version = re.fullmatch(r"(\d{1,3})\.(\d{1,3})", kernel)
    if version is None:
        raise ValueError(f"kernel {kernel!r}: expected MAJOR.MINOR, such as 6.12")
    of = (int(version[1]), int(version[2]))
    return array("I", _idlewise.pelt(start_ns, end_ns, at_ns, of, int(half_life_ms)))


def walt(
    start_ns: Any, end_ns: Any, at_ns: Any, *, window_ms: float = 20
) -> tuple[array[int], array[int]]:
    """WALT of such a task, as in Android 4.4: its demand, and the busy time of its CPU, 0 to 1024 each.

    window_ms: the window, 10 to 1000 ms; windows begin at 0.
    """
    if not 10 <= window_ms <= 1000:
        raise ValueError(f"window_ms {window_ms!r}: expected a window of 10 ms to 1 s")
    demand, busy = _idlewise.walt(start_ns, end_ns, at_ns, round(window_ms * 1e6))
    return array("I", demand), array("I", busy)
