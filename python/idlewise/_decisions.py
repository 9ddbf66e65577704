# SPDX-License-Identifier: GPL-2.0-only
"""Every decision of the governors in a replay, in batches."""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref
from typing import Any

from . import _commands, _idlewise
from ._result import Result


class Decisions:
    """Decisions as rows (docs/guide/decisions-as-data.md), in batches: pyarrow.RecordBatchReader.from_stream(decisions),
    polars.DataFrame(decisions). They lie in a temporary file, which goes with this object; a stream that was
    asked for reads on."""

    def __init__(self, result: Result, path: str) -> None:
        self.result = result
        self._path = path
        self._finalizer = weakref.finalize(self, shutil.rmtree, os.path.dirname(path), ignore_errors=True)

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return _idlewise.file_stream(self._path)

    def __repr__(self) -> str:
        return f"<decisions of {self.result!r}>"


def decisions(*traces: Any, **options: Any) -> Decisions:
    """Replays traces as `idlewise.replay`, and keeps every decision. `result` of what it returns is that of replay."""
    folder = tempfile.mkdtemp(prefix="idlewise-")
    try:
        path = os.path.join(folder, "decisions.arrow")
        result = _commands.replay(*traces, write_decisions=path, **options)
        return Decisions(result, path)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
