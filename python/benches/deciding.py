# SPDX-License-Identifier: GPL-2.0-only
"""What does a decision of a governor in Python cost, compared with two empty Python calls?

deciding.py prints both and their ratio, and fails above 3. A replay of a simulated load is timed under a governor in
Python whose select and reflect are empty, and under one in C that chooses the same; the difference is the decisions' cost.
"""

from __future__ import annotations

import functools
import os
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

import idlewise

MOST = 3.0
ROUNDS = 15
# So many governors in one replay: the more decisions, the less what else it does matters.
NAMES = "abcdefgh"
BURSTS = 50
CALLS = 2_000
SECONDS = 120

# Always state 0, as the classes here, in C, on a machine whose state 0 does not poll.
IN_C = "shallow"


class Empty:
    name = ""

    def select(self, cpu: Any, states: Any, inputs: Any) -> int:
        return 0

    def reflect(self, cpu: Any, state: int) -> None:
        pass


class Asking(Empty):
    """Asks for five values: what a usual governor needs."""

    def select(self, cpu: Any, states: Any, inputs: Any) -> int:
        inputs.sleep_length_ns, inputs.latency_limit_ns, inputs.tick_stopped
        states[1].target_residency_ns, states[1].disabled
        return 0


def named(of: type[Empty], name: str) -> Empty:
    governor = of()
    governor.name = name
    return governor


def two_calls_ns() -> float:
    """Empty's two methods, called by Python, without what the loop around them costs."""
    numbers, governor = range(CALLS), Empty()

    def calls() -> None:
        for _ in numbers:
            governor.select(0, 0, 0)
            governor.reflect(0, 0)

    def nothing() -> None:
        for _ in numbers:
            pass

    both, loop = (min(took_ns(job) for _ in range(BURSTS)) for job in (calls, nothing))
    return (both - loop) / CALLS


def took_ns(job: Callable[[], Any]) -> int:
    """The processor's time, so that other programs do not count."""
    begun = time.process_time_ns()
    job()
    return time.process_time_ns() - begun


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        trace, tape = (os.path.join(folder, name) for name in ("t.perfetto-trace", "t.tape"))
        idlewise.simulate("frames", governor="menu", seconds=SECONDS, write_trace=trace, progress=False)
        idlewise.tape(trace, output=tape, progress=False)

        def replay(governors: list[Any]) -> int:
            """The decisions of all."""
            result = idlewise.replay(tape, governor=governors, charts=False, progress=False)
            return sum(g["decisions"] for g in result["traces"][0]["governors"])

        in_c = [f"{name}@{IN_C}" for name in NAMES]
        empty, asking = ([named(of, name) for name in NAMES] for of in (Empty, Asking))
        arms: list[list[Any]] = [in_c, [*empty], [*asking]]
        decisions = replay(arms[1])
        if decisions != replay(arms[0]):
            raise AssertionError("the governors in Python and in C choose differently")
        # In turn, so that a machine that slows down does so for all; the least is what the work needs.
        calls: list[float] = []
        times: list[list[int]] = [[], [], []]
        for _ in range(ROUNDS):
            calls.append(two_calls_ns())
            for governors, all_ns in zip(arms, times):
                all_ns.append(took_ns(functools.partial(replay, governors)))
    two = min(calls)
    without, *others = map(min, times)
    cost, asked = ((all_ns - without) / decisions for all_ns in others)
    print(f"{decisions} decisions, {ROUNDS} rounds; the least of each")
    print(f"two empty calls               {two:6.0f} ns")
    print(f"a decision (select, reflect)  {cost:6.0f} ns  {cost / two:.2f} times as long; at most {MOST}")
    print(f"  and five values asked for   {asked:6.0f} ns")
    return 0 if cost <= MOST * two else 1


if __name__ == "__main__":
    sys.exit(main())
