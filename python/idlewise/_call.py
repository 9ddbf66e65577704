# SPDX-License-Identifier: GPL-2.0-only
"""Calls of commands: arguments to words, outcomes to results."""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Callable, Iterable, Mapping
from numbers import Integral, Real
from typing import Any, Union

from . import _idlewise
from ._governor import Deciding, Governors, is_governor
from ._progress import Bar
from ._result import Error, IdlewiseWarning, Result

Value = Union[str, int, float, "os.PathLike[str]", Deciding, type[Deciding]]
Progress = Union[Callable[[str, int, int], object], bool, None]


def _word(name: str, value: Any, own: Governors) -> str:
    if is_governor(value):
        return own.name(value)
    if isinstance(value, bool) or value is None:
        raise TypeError(f"{name}: {value!r} is no value; expected a text, a number or a path")
    if isinstance(value, Integral):
        return str(int(value))
    if isinstance(value, Real):
        if not math.isfinite(value):
            raise ValueError(f"{name}: {value} is no number that a run can use")
        # As a decimal number: a command line knows no exponents.
        return f"{float(value):.9f}".rstrip("0").rstrip(".")
    if isinstance(value, (str, os.PathLike)):
        text = str(os.fspath(value))
        try:
            os.fsencode(text)
        except UnicodeEncodeError:
            raise ValueError(f"{name}: {text!r} holds what no file's name can hold") from None
        return text
    more = "; a governor has the method select(cpu, states, inputs)" if isinstance(value, type) else ""
    raise TypeError(f"{name}: {value!r} is no value; expected a text, a number or a path{more}")


def _words(name: str, value: Any, own: Governors) -> list[str]:
    if isinstance(value, Mapping):
        raise TypeError(f"{name}: {value!r} is no value; parameters are part of a governor's name, such as 'teo:decay_shift=3'")
    if isinstance(value, Iterable) and not isinstance(value, (str, bytes, type)) and not is_governor(value):
        return [_word(name, one, own) for one in value]
    return [_word(name, value, own)]


def _option(name: str, given: Any, own: Governors) -> list[str]:
    if isinstance(given, bool):
        return [name] if given else []
    value, how = given
    if value is None:
        return []
    words = _words(name, value, own)
    if how == "after":
        return [name, *words]
    if how == "again":
        return [f"{name}={word}" for word in words]
    return [f"{name}={','.join(words)}"]


def words(
    command: str, arguments: Iterable[Value | None], options: dict[str, Any], own: Governors
) -> list[str]:
    """As a shell would give them."""
    out = command.split()
    for name, given in options.items():
        out += _option(name, given, own)
    out.append("--")
    for argument in arguments:
        if isinstance(argument, (list, tuple)):
            called = command.replace(" ", "_")
            raise TypeError(f"argument of {called}: several are arguments of their own, with a star before the list: {called}(*those)")
        if argument is not None:
            out.append(_word(f"argument of {command}", argument, own))
    return out


def _warn(text: str) -> None:
    # This, `call`, the command's function, its caller.
    warnings.warn(text, IdlewiseWarning, stacklevel=4)


def call(
    command: str,
    arguments: Iterable[Value | None],
    options: dict[str, Any],
    charts: bool,
    progress: Progress,
    cases: str | None = None,
) -> Result:
    """Runs a command with these positional arguments and options; `cases` are what a sweep has instead of recordings."""
    own = Governors(command)
    given = words(command, arguments, options, own)
    with Bar.of(progress) as heard:
        outcome = _idlewise.call(given, charts, heard, own.given(), cases, _warn)
    result = Result(command, outcome)
    if outcome.failure is not None:
        raise Error(outcome.failure.strip(), result if outcome.json is not None else None) from outcome.cause
    return result
