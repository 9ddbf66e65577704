# SPDX-License-Identifier: GPL-2.0-only
"""The model of the benchmark `simulating`, as small as it can be made, in SimPy.

Two CPUs, a task on each that works for 100 us and sleeps for 500; a timer of 50 us slack wakes it, the CPU leaves the one
idle state that there is, works, and goes back to sleep. No scheduler, no signal, no tick, no governor, no energy: what is
left is what any event simulation must do.

    python3 benches/peers/toy_simpy.py SECONDS

prints events processed, simulated ns, wall-clock seconds.
"""

import sys
import time

import simpy

US = 1_000


def task(env, cpu, seen):
    while True:
        with cpu.request() as turn:
            yield turn
            yield env.timeout(100 * US)  # works
        seen["runs"] += 1
        start = env.now
        yield env.timeout(550 * US)  # sleeps, with slack
        yield env.timeout(300 * US)  # the CPU leaves its idle state
        seen["idle_ns"] += env.now - start


def main():
    end = int(float(sys.argv[1]) * 1e9)
    env = simpy.Environment()
    seen = {"runs": 0, "idle_ns": 0}
    for _ in range(2):
        env.process(task(env, simpy.Resource(env, capacity=1), seen))
    events = 0
    begin = time.perf_counter()
    while env.peek() < end:
        env.step()
        events += 1
    print(events, end, time.perf_counter() - begin)


main()
