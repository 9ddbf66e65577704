# SPDX-License-Identifier: GPL-2.0-only
import pathlib
from collections.abc import Callable, Sequence
from typing import Any, Final

__version__: str

class Outcome:
    @property
    def same(self) -> bool: ...
    @property
    def failure(self) -> str | None: ...
    @property
    def cause(self) -> BaseException | None: ...
    @property
    def warnings(self) -> list[str]: ...
    @property
    def said(self) -> str: ...
    @property
    def json(self) -> str | None: ...
    def details(self) -> str: ...
    def encode(self, form: str) -> bytes: ...
    def page(self) -> str: ...
    def svg(self, chart: str) -> str: ...
    def arrow_stream(self) -> object: ...

class State:
    """An idle state of a CPU."""

    index: Final[int]
    name: Final[str]
    target_residency_ns: Final[int]
    exit_latency_ns: Final[int]
    polling: Final[bool]
    """Entering it means to poll."""
    @property
    def disabled(self) -> bool:
        """It must not be entered now."""

class Cpu:
    """A CPU that goes idle."""

    number: Final[int]
    capacity: Final[int]
    """1024 for the biggest CPU of the machine."""
    states: Final[tuple[State, ...]]
    """From the shallowest to the deepest."""
    @property
    def now_ns(self) -> int:
        """The CPU's clock."""
    @property
    def last_residency_ns(self) -> int:
        """How long it was in the state that it left last, by the kernel's measure; 0 after a rejected entry."""
    @property
    def poll_time_limit(self) -> bool:
        """It polled last until the limit for that."""
    def got_tick(self) -> bool:
        """Whether the tick's handler ran since this was last asked."""

class Inputs:
    """What a governor may ask at a decision."""

    tick_period_ns: Final[int]
    @property
    def sleep_length_ns(self) -> int:
        """Time to the next event if the tick is stopped; may be negative. A kernel needs time to find it out."""
    @property
    def delta_tick_ns(self) -> int:
        """Time to the next event if the tick is kept; may be negative. A kernel finds it out with the sleep length."""
    @property
    def latency_limit_ns(self) -> int:
        """The largest exit latency allowed; a very large number where there is no limit."""
    @property
    def util(self) -> int:
        """Utilisation of the CPU, 0 to 1024."""
    @property
    def iowait(self) -> int:
        """Tasks that wait for I/O and belong to the CPU."""
    @property
    def random(self) -> int:
        """The random number of this decision, 32 bits."""
    @property
    def tick_stopped(self) -> bool:
        """The tick is stopped already."""

def ending() -> None: ...
def call(
    words: Sequence[str],
    charts: bool,
    progress: Callable[[str, int, int], object] | None = None,
    governors: Sequence[tuple[str, Callable[[], Any], tuple[str, str] | None]] = (),
    cases: str | None = None,
    warned: Callable[[str], object] | None = None,
) -> Outcome: ...

class SweepParts:
    """A sweep whose parts are computed elsewhere."""

    @property
    def recordings(self) -> list[str]: ...
    @property
    def platforms(self) -> int: ...
    @property
    def settings(self) -> int: ...
    def order(self) -> str: ...
    def code(self) -> dict[str, bytes]: ...
    def setting(self, n: int) -> str: ...
    def todo(self, case: str) -> tuple[bool, list[tuple[int, int]]]: ...
    def keep(self, case: str, lines: str, worker: str) -> pathlib.Path: ...

class SweepWorkplace:
    """Where parts of a sweep are computed, each on one thread."""

    def __init__(self, order: str, code: dict[str, bytes], folder: str) -> None: ...
    def read(self, file: str, here: str) -> str: ...
    def run(
        self, file: str, here: str, platform: int, key: str, start: int, end: int, facts: bool
    ) -> tuple[str | None, tuple[bool, str] | None]: ...

def sweep_parts(
    words: Sequence[str], progress: Callable[[str, int, int], object] | None = None
) -> tuple[SweepParts | None, str | None]: ...
def sweep_recordings(named: str) -> str: ...
def file_stream(path: str) -> object: ...
def pelt(start: Any, end: Any, at: Any, kernel: tuple[int, int], half_life_ms: int) -> bytes: ...
def walt(start: Any, end: Any, at: Any, window_ns: int) -> tuple[bytes, bytes]: ...
