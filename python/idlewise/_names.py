# SPDX-License-Identifier: GPL-2.0-only
"""What can be named where a governor, a platform or a workload is asked for."""

from __future__ import annotations

from collections.abc import Iterable

from ._call import Value, call
from ._result import Result


def governors(*, kernel_tree: Value | Iterable[Value] | None = None) -> Result:
    """The governors that ship with idlewise, and those of a kernel tree. `print` shows them; there is no data.

    kernel_tree: A kernel tree, whose governors may be named: linux:6.12/teo is one.
    """
    return call("governors list", [], {"--kernel-tree": (kernel_tree, "again")}, charts=False, progress=False)


def platforms() -> Result:
    """The machines that ship with idlewise. `print` shows them; there is no data."""
    return call("platform list", [], {}, charts=False, progress=False)
