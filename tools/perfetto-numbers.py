#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Writes crates/trace/src/perfetto/numbers.rs, the numbers of Perfetto's protobuf messages, to standard output:

    tools/python-perfetto.sh target/python-perfetto
    target/python-perfetto/bin/python tools/perfetto-numbers.py > crates/trace/src/perfetto/numbers.rs

The numbers are those of the descriptors in the PyPI package `perfetto`. The fields are those of the events that
crates/model/src/kernel_events.rs declares, and of x86's vectors that count (crates/trace/src/kernel/meaning/vectors.rs).
"""

import importlib.metadata
import re
from pathlib import Path

from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as messages

TREE = Path(__file__).resolve().parent.parent
# A line of the table is at most so long.
WIDTH = 110
# Text that programs write to trace_marker is read for the frequencies in it.
MARKER = "print"
# Its CPUs are one number of 32 bits in Perfetto's message, from which no CPUs are read.
NOT_READ = "ipi_raise"

HEAD = """\
// SPDX-License-Identifier: GPL-2.0-only
//! Numbers of Perfetto's protobuf messages, read from the descriptors in the PyPI package `perfetto` {version}
//! (`perfetto.protos.perfetto.trace.perfetto_trace_pb2`) by `tools/perfetto-numbers.py`: do not edit. A number that is
//! not here is not known here.

use super::field::{{Field, Kind}};

/// The fields of `FtraceEvent` that hold an event, by number.
#[rustfmt::skip]
pub(crate) const EVENTS: [(u32, &str); {events}] = ["""

MIDDLE = """\
];

const fn number(number: u8, name: &'static str) -> Field<&'static str> {{
    Field {{ number, name, kind: Kind::Number }}
}}

const fn text(number: u8, name: &'static str) -> Field<&'static str> {{
    Field {{ number, name, kind: Kind::Text }}
}}

/// The fields of the events whose values are read.
#[rustfmt::skip]
pub(crate) const FIELDS: [(u32, &[Field<&str>]); {events}] = ["""


def filled(items, indent):
    """The items, each with a comma, in as few lines as they fit in."""
    line = indent
    for item in items:
        space = "" if line == indent else " "
        if len(line) + len(space) + len(item) + 1 > WIDTH:
            yield line
            line, space = indent, ""
        line += f"{space}{item},"
    yield line


def names_that_are_read():
    declared = (TREE / "crates/model/src/kernel_events.rs").read_text()
    names = {name for _, name in re.findall(r'"(\w+)" "(\w+)"', declared)}
    vectors = (TREE / "crates/trace/src/kernel/meaning/vectors.rs").read_text()
    names |= set(re.findall(r'"(\w+_(?:entry|exit))"', vectors))
    return (names | {MARKER}) - {NOT_READ}


def fields_of(event):
    for field in sorted(event.message_type.fields, key=lambda field: field.number):
        is_text = field.type in (field.TYPE_STRING, field.TYPE_BYTES)
        yield f'{"text" if is_text else "number"}({field.number}, "{field.name}")'


def main():
    everything = messages.FtraceEvent.DESCRIPTOR
    events = sorted((f for f in everything.fields if f.message_type), key=lambda field: field.number)
    read = [event for event in events if event.name in names_that_are_read()]
    print(HEAD.format(version=importlib.metadata.version("perfetto"), events=len(events)))
    print("\n".join(filled([f'({event.number}, "{event.name}")' for event in events], "    ")))
    print(MIDDLE.format(events=len(read)))
    for event in read:
        fields = list(fields_of(event))
        line = f"    ({event.number}, &[{', '.join(fields)}]),"
        if len(line) <= WIDTH:
            print(line)
        else:
            print(f"    ({event.number}, &[")
            print("\n".join(filled(fields, "        ")))
            print("    ]),")
    print("];")


main()
