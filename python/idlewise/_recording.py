# SPDX-License-Identifier: GPL-2.0-only
"""A recording, and what can be asked of it."""

from __future__ import annotations

import os
from functools import cached_property
from typing import Any

from . import _commands
from ._result import Result


def read(trace: str | os.PathLike[str], **options: Any) -> Recording:
    """A trace in any supported format, or a tape. `options` say what the trace lacks: recorded_on, sysfs,
    kernel_governor, instance, despite_counters. It is read when something is asked of it."""
    if not os.path.exists(trace):
        raise FileNotFoundError(f"{os.fspath(trace)}: no such file or folder")
    return Recording(trace, options)


class Recording:
    """A trace with what it lacks."""

    def __init__(self, trace: str | os.PathLike[str], options: dict[str, Any]) -> None:
        self.path = os.fspath(trace)
        self._options = options

    @cached_property
    def info(self) -> Result:
        """What a trace holds, and what each CPU is good for; tapes have none."""
        return _commands.info(self.path, **self._options)

    def replay(self, **options: Any) -> Result:
        """As `idlewise.replay`."""
        return _commands.replay(self.path, **(self._options | options))

    def compare(self, governor: Any, **options: Any) -> Result:
        """As `idlewise.compare`."""
        return _commands.compare(self.path, governor=governor, **(self._options | options))

    def explain(self, **options: Any) -> Result:
        """As `idlewise.explain`."""
        return _commands.explain(self.path, **(self._options | options))

    def score(self, **options: Any) -> Result:
        """As `idlewise.score`."""
        return _commands.score(self.path, **(self._options | options))

    def tape(self, output: str | os.PathLike[str], **options: Any) -> Recording:
        """Writes the tape to a file, and reads it."""
        _commands.tape(self.path, output=output, **(self._options | options))
        return Recording(output, {})

    def __repr__(self) -> str:
        return f"<recording {self.path}>"
