#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Takes a trace.dat apart into what pack.sh puts together.

    unpack.py IN.dat DIR [SYSTEM...]

Only the formats of the named event systems go along (default: those that idlewise reads). With pack.sh this makes a
trace that carries the whole kernel's symbols and formats small; the raw pages stay what they are.
"""

import re
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

SYSTEMS = ["power", "sched", "timer", "timer_migration", "irq", "irq_vectors", "ipi"]


class Reader:
    """The fields of a version 6 file, in their order."""

    def __init__(self, data):
        self.data, self.at, self.order = data, 0, "<"

    def take(self, n):
        self.at += n
        return self.data[self.at - n : self.at]

    def text(self):
        end = self.data.index(b"\0", self.at)
        return self.take(end + 1 - self.at)[:-1].decode()

    def number(self, size):
        return struct.unpack(self.order + {2: "H", 4: "I", 8: "Q"}[size], self.take(size))[0]


def main():
    if len(sys.argv) < 3 or sys.argv[1].startswith("-"):
        sys.exit(__doc__.strip())
    source, target = Path(sys.argv[1]), Path(sys.argv[2])
    systems = sys.argv[3:] or SYSTEMS
    with tempfile.TemporaryDirectory() as folder:
        plain = Path(folder, "v6.dat")
        convert = ["trace-cmd", "convert", "-i", source, "-o", plain, "--file-version", "6", "--compression", "none"]
        subprocess.run(convert, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        data = plain.read_bytes()

    r = Reader(data)
    assert r.take(10) == b"\x17\x08\x44tracing", "not a trace.dat"
    assert r.text() == "6"
    r.order = ">" if r.take(1)[0] else "<"
    r.take(1 + 4)  # size of a long, of a page

    def write(name, content):
        path = target / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)

    def write_events(system, keep):
        for _ in range(r.number(4)):
            text = r.take(r.number(8))
            if keep:
                name = text.split(None, 2)[1].decode()  # "name: cpu_idle"
                write(f"tracing/events/{system}/{name}/format", text)

    for name in ["header_page", "header_event"]:
        assert r.text() == name
        write(f"tracing/events/{name}", r.take(r.number(8)))
    write_events("ftrace", True)
    for _ in range(r.number(4)):
        system = r.text()
        write_events(system, system in systems)
    write("kallsyms", r.take(r.number(4)))
    write("tracing/printk_formats", r.take(r.number(4)))
    write("tracing/saved_cmdlines", r.take(r.number(8)))
    cpus = r.number(4)
    # Version 7 keeps the clock with the buffer, and the conversion forgets it.
    dump = subprocess.run(["trace-cmd", "dump", "--options", source], capture_output=True, text=True, check=False).stdout
    clock = re.search(r'^"(\w+)" \[clock\]', dump, re.M)
    clock = f"[{clock[1]}]\n".encode() if clock else b"[local]\n"
    while (part := r.take(10).rstrip(b" \0")) == b"options":
        while (option := r.number(2)) != 0:
            content = r.take(r.number(4))
            if option == 4:  # trace_clock, as the kernel shows it
                clock = content.rstrip(b"\0")
    assert part == b"flyrecord", part
    write("tracing/trace_clock", clock)
    for cpu in range(cpus):
        offset, size = r.number(8), r.number(8)
        write(f"cpu{cpu}", data[offset : offset + size])


main()
