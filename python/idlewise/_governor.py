# SPDX-License-Identifier: GPL-2.0-only
"""Idle governors that are written in Python."""

from __future__ import annotations

import copy
import ctypes
import functools
import inspect
import itertools
import linecache
import os
import re
import traceback
import types
from collections.abc import Callable, Iterable, Sized
from numbers import Integral, Real
from typing import Any, Protocol, Union

from ._idlewise import Cpu, Inputs, State

Choice = Union[int, tuple[int, bool]]

BOUNDS = ("oracle", "hindsight")

COMMANDS = (
    "check",
    "compare",
    "convert",
    "corpus run",
    "counterexample",
    "explain",
    "fitness",
    "replay",
    "simulate",
)
"""Those that take a governor in Python where they take one's name."""

# The file of a class that is in no file.
CELL = "notebook"

# What `attributes` shows: levels of values in values, elements of a list, characters of a text.
LEVELS = 4
ELEMENTS = 100
CHARACTERS = 60
# Characters of an exception, with its text.
LONGEST = 300


class Deciding(Protocol):
    """What a governor must have; `Governor` says what it means."""

    def select(self, cpu: Cpu, states: tuple[State, ...], inputs: Inputs, /) -> Choice: ...


class Governor:
    """An idle governor. A subclass, or any other class with such methods, stands where a governor is named:

        class Deepest(idlewise.Governor):
            def select(self, cpu, states, inputs):
                return len(states) - 1

        idlewise.replay("trace.dat", governor=["menu", Deepest])

    Each CPU of each run has an object of its own, made without arguments, so `self` is the CPU's own data. An object that is
    given instead of a class is copied (copy.deepcopy) for each CPU: Mine(3). `name` is what results call it.
    """

    name: str | None = None
    """What results call it; None: the name of the class, with a number after it from the second of the class on."""

    def select(self, cpu: Cpu, states: tuple[State, ...], inputs: Inputs) -> Choice:
        """Chooses an idle state for a CPU that has nothing to do.

        It returns the state's index, or the index and whether to stop the tick; the index alone stops it. `cpu` and
        `inputs` are the same objects each time, with other values: keep the values.
        """
        raise NotImplementedError("a governor needs the method select(cpu, states, inputs)")

    def reflect(self, cpu: Cpu, state: int) -> None:
        """The CPU has left the idle state with the index `state`; `cpu.last_residency_ns` says after how long."""


def is_governor(value: object) -> bool:
    """Whether it is a class with the methods of a governor, or an object of one."""
    return callable(getattr(value, "select", None))


class Governors:
    """Those of one call: what words name them by, and what is made of them."""

    def __init__(self, command: str) -> None:
        self._command = command
        self._given: dict[str, Any] = {}

    def name(self, value: Any) -> str:
        """The word for a governor, which is kept."""
        if self._command not in COMMANDS:
            named, *those = (name.replace(" ", "_") for name in (self._command, *COMMANDS))
            raise TypeError(
                f"{named} takes governors by their names only, and got {value!r}; these take a governor in Python: "
                f"{', '.join(those)}"
            )
        of_class = value if isinstance(value, type) else type(value)
        name = getattr(value, "name", None)
        name = of_class.__name__ if name is None else name
        if not isinstance(name, str) or re.fullmatch(r"[A-Za-z0-9_.+-]+", name) is None or name in BOUNDS:
            raise ValueError(
                f"{value!r} is called {name!r}; its `name` must be made of letters, digits and -_.+ without accents, "
                f"and not be {' or '.join(BOUNDS)}"
            )
        if self._given.get(name, value) is not value and getattr(value, "name", None) is None:
            # Several objects of one class, in the order given: Mine, Mine-2, Mine-3.
            numbered = (f"{name}-{number}" for number in itertools.count(2))
            name = next(other for other in numbered if self._given.get(other, value) is value)
        if self._given.setdefault(name, value) is not value:
            raise ValueError(f"two governors are called {name}; give one of them another `name`")
        return name

    def given(self) -> list[tuple[str, Callable[[], Any], tuple[str, str] | None]]:
        """Name, what makes a copy, and the file with its text where both are known."""
        return [(name, _maker(value), _source(value)) for name, value in self._given.items()]


def _maker(value: Any) -> Callable[[], Any]:
    return value if isinstance(value, type) else functools.partial(copy.deepcopy, value)


def _source(value: Any) -> tuple[str, str] | None:
    of_class = value if isinstance(value, type) else type(value)
    try:
        file = inspect.getsourcefile(of_class)
    except (OSError, TypeError):
        return None
    if file is None:
        return None
    text = "".join(linecache.getlines(file))
    if not os.path.exists(file):
        # A cell of a notebook, whose file has a name of this run's.
        return (CELL, text) if text else None
    below = os.path.relpath(file)
    return (file if below.startswith("..") else below, text) if text else None


Called = tuple[Callable[..., Any], tuple[Any, ...]]


def methods(
    governor: Any, cpu: Cpu, states: tuple[State, ...], inputs: Inputs
) -> tuple[Called, list[Called]]:
    """What is called to select, and to reflect after each state, with its arguments; nothing for a reflect that does nothing."""
    if not is_governor(governor):
        raise TypeError(f"made {governor!r}, which has no method select(cpu, states, inputs)")
    own = getattr(governor, "reflect", None)
    nothing = own is None or getattr(own, "__func__", None) is Governor.reflect
    reflects = [] if nothing else [_called(own, cpu, state.index) for state in states]
    return _called(governor.select, cpu, states, inputs), reflects


def _called(method: Any, *arguments: Any) -> Called:
    """A function with its self is called faster than a method."""
    if isinstance(method, types.MethodType):
        return method.__func__, (method.__self__, *arguments)
    return method, arguments


def attributes(governor: Any) -> dict[str, Any]:
    """What an object remembers, for `explain`: truth values, whole numbers, texts, and lists and dictionaries of them."""
    shown = _simple(_attributes(governor), LEVELS)
    assert isinstance(shown, dict)
    return shown


def _attributes(value: Any) -> dict[str, Any]:
    slots = (name for of_class in type(value).__mro__ for name in getattr(of_class, "__slots__", ()))
    there = {name: getattr(value, name) for name in slots if hasattr(value, name)}
    there |= getattr(value, "__dict__", {})
    return {name: one for name, one in there.items() if not name.startswith("__")}


def _simple(value: Any, levels: int) -> Any:
    if isinstance(value, (bool, str)):
        return value
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Real):
        return f"{float(value):g}"
    if hasattr(value, "tolist"):
        value = value.tolist()
    if levels > 0 and isinstance(value, dict):
        return {str(name): _simple(one, levels - 1) for name, one in itertools.islice(value.items(), ELEMENTS)}
    if levels > 0 and isinstance(value, Iterable) and isinstance(value, Sized):
        return [_simple(one, levels - 1) for one in itertools.islice(value, ELEMENTS)]
    if levels > 0 and not callable(value) and _attributes(value):
        return _simple(_attributes(value), levels - 1)
    text = repr(value)
    return text if len(text) <= CHARACTERS else f"{text[:CHARACTERS]}..."


def sentence(error: BaseException) -> str:
    """What an error says of an exception: a line without control characters, however the exception came by its text."""
    kind = type(error)
    name = kind.__qualname__ if kind.__module__ in ("builtins", "__main__") else f"{kind.__module__}.{kind.__qualname__}"
    try:
        text = " ".join(str(error).split())
    except Exception:
        text = "<its text cannot be had>"
    what = f"{name}: {text}" if text else name
    if len(what) > LONGEST:
        what = what[: LONGEST - 3] + "..."
    frames = traceback.extract_tb(error.__traceback__)
    where = f" ({os.path.basename(frames[-1].filename)}, line {frames[-1].lineno})" if frames else ""
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in f"raised {what}{where}")


def interrupt(threads: Iterable[int]) -> None:
    """Raises KeyboardInterrupt in these threads, where they are in code of Python's."""
    for thread in threads:
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(KeyboardInterrupt))
