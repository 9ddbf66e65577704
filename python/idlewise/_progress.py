# SPDX-License-Identifier: GPL-2.0-only
"""How far a call is: a bar on terminals and in notebooks, or a function."""

from __future__ import annotations

import sys
import time
import warnings
from typing import Any


class Bar:
    """Shows nothing in the first second; then tqdm's bar where tqdm is installed, else a line on a terminal."""

    def __init__(self) -> None:
        self._begun = time.monotonic()
        self._bar: Any = None
        self._line = False

    @classmethod
    def of(cls, progress: Any) -> Any:
        """What hears of progress, as a context: `progress` itself where it is a function."""
        if callable(progress):
            return _Function(progress)
        if progress is False or (progress is None and not _is_watched()):
            return _Function(None)
        return cls()

    def __enter__(self) -> Any:
        return self._step

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.close()
        elif self._line:
            print("\r" + " " * 60 + "\r", end="", file=sys.stderr, flush=True)

    def _step(self, what: str, done: int, of: int) -> None:
        if time.monotonic() - self._begun < 1:
            return
        tqdm = _tqdm()
        if tqdm is None:
            print(f"\r{what}: {100 * done // max(of, 1)} % ", end="", file=sys.stderr, flush=True)
            self._line = True
            return
        if self._bar is None:
            self._bar = tqdm(desc=what, total=of, leave=False)
            # Its speed is that of the call, which began before it was shown.
            self._bar.start_t -= time.monotonic() - self._begun
        self._bar.total = of
        self._bar.set_description(what, refresh=False)
        self._bar.n = done
        self._bar.refresh()


class _Function:
    def __init__(self, heard: Any) -> None:
        self._heard = heard

    def __enter__(self) -> Any:
        return self._heard

    def __exit__(self, *_: object) -> None:
        pass


def _is_watched() -> bool:
    return sys.stderr.isatty() or "ipykernel" in sys.modules


def _tqdm() -> Any:
    try:
        with warnings.catch_warnings():
            # Without ipywidgets a notebook shows the bar as text.
            warnings.simplefilter("ignore")
            from tqdm.auto import tqdm
    except ImportError:
        return None
    return tqdm
