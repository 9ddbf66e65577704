# SPDX-License-Identifier: GPL-2.0-only
"""Calls of commands: arguments to words, outcomes to results."""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Callable, Iterable
from typing import Any, Union

from . import _idlewise
from ._progress import Bar
from ._result import Error, IdlewiseWarning, Result

Value = Union[str, int, float, "os.PathLike[str]"]
Progress = Union[Callable[[str, int, int], object], bool, None]


def _word(name: str, value: Any) -> str:
    if isinstance(value, bool) or value is None:
        raise TypeError(f"{name}: {value!r} is no value; expected a text, a number or a path")
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ValueError(f"{name}: {value} is no number that a run can use")
        # As a decimal number: a command line knows no exponents.
        return f"{value:.9f}".rstrip("0").rstrip(".")
    if isinstance(value, (str, int)):
        return str(value)
    return str(os.fspath(value))


def _words(name: str, value: Any) -> list[str]:
    if isinstance(value, Iterable) and not isinstance(value, (str, bytes)):
        return [_word(name, one) for one in value]
    return [_word(name, value)]


def _option(name: str, given: Any) -> list[str]:
    if isinstance(given, bool):
        return [name] if given else []
    value, how = given
    if value is None:
        return []
    words = _words(name, value)
    if how == "after":
        return [name, *words]
    if how == "again":
        return [f"{name}={word}" for word in words]
    return [f"{name}={','.join(words)}"]


def call(
    command: str,
    arguments: Iterable[Value | None],
    options: dict[str, Any],
    charts: bool,
    progress: Progress,
) -> Result:
    """Runs a command with these positional arguments and options."""
    words = command.split()
    for name, given in options.items():
        words += _option(name, given)
    words.append("--")
    words += [_word(f"argument of {command}", a) for a in arguments if a is not None]
    with Bar.of(progress) as heard:
        outcome = _idlewise.call(words, charts, heard)
    for text in outcome.warnings:
        warnings.warn(text, IdlewiseWarning, stacklevel=3)
    result = Result(command, outcome)
    if outcome.failure is not None:
        raise Error(outcome.failure.strip(), result if outcome.json is not None else None)
    return result
