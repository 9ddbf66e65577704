#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Writes a CTF trace with babeltrace's own writer (sink.ctf.fs; Debian: python3-bt2).

  write.py EVENTS DIRECTORY

EVENTS has a line for each event, those of a CPU in order of time:

  TIME_NS CPU NAME KIND:FIELD=VALUE...

KIND is u or s for a number without or with sign, t for a text (spaces as %20). Each CPU becomes a stream of one packet, in
the way of LTTng: the packet says which CPU it is of, and the clock is CLOCK_MONOTONIC.
"""
import sys

import bt2


def structure(trace_class, members):
    fields = trace_class.create_structure_field_class()
    for name, member in members:
        fields.append_member(name, member)
    return fields


def field_class(trace_class, kind):
    if kind == "t":
        return trace_class.create_string_field_class()
    if kind == "s":
        return trace_class.create_signed_integer_field_class(64)
    return trace_class.create_unsigned_integer_field_class(64)


class Messages(bt2._UserMessageIterator):
    def __init__(self, config, port):
        self.waiting = iter(port.user_data)

    def __next__(self):
        return next(self.waiting)(self)


class Source(bt2._UserSourceComponent, message_iterator_class=Messages):
    def __init__(self, config, params, lines):
        self.classes = self._create_trace_class()
        offset = bt2.ClockClassOffset(1_700_000_000, 5)
        clock = self._create_clock_class(name="monotonic", frequency=1_000_000_000, offset=offset)
        context = structure(self.classes, [("cpu_id", self.classes.create_unsigned_integer_field_class(32))])
        self.kind = self.classes.create_stream_class(
            default_clock_class=clock,
            supports_packets=True,
            packet_context_field_class=context,
            packets_have_beginning_default_clock_snapshot=True,
            packets_have_end_default_clock_snapshot=True,
        )
        env = {"domain": "kernel", "tracer_name": "lttng-modules", "kernel_release": "6.12.0"}
        trace = self.classes(name="written", environment=env)
        self.events = {}
        cpus = {}
        for line in lines:
            words = line.split()
            cpus.setdefault(int(words[1]), []).append(words)
        for cpu, events in sorted(cpus.items()):
            self._add_output_port(f"cpu{cpu}", list(self.messages(trace.create_stream(self.kind), cpu, events)))

    def messages(self, stream, cpu, events):
        packet = stream.create_packet()
        packet.context_field["cpu_id"] = cpu
        begin, end = int(events[0][0]), int(events[-1][0])
        yield lambda it: it._create_stream_beginning_message(stream)
        yield lambda it: it._create_packet_beginning_message(packet, begin)
        for time, _, name, *fields in events:
            fields = [(field[0], *field[2:].split("=", 1)) for field in fields]
            yield self.message(packet, int(time), self.event(name, fields), fields)
        yield lambda it: it._create_packet_end_message(packet, end)
        yield lambda it: it._create_stream_end_message(stream)

    def event(self, name, fields):
        # Kernels differ in some fields; each kind is declared once.
        key = (name, len(fields))
        if key not in self.events:
            members = [(field, field_class(self.classes, kind)) for kind, field, _ in fields]
            payload = structure(self.classes, members)
            self.events[key] = self.kind.create_event_class(name=name, payload_field_class=payload)
        return self.events[key]

    @staticmethod
    def message(packet, time, event_class, fields):
        def make(iterator):
            message = iterator._create_event_message(event_class, packet, time)
            for kind, name, value in fields:
                value = value.replace("%20", " ") if kind == "t" else int(value)
                message.event.payload_field[name] = value
            return message

        return make


def main():
    events, directory = sys.argv[1:]
    with open(events, encoding="utf-8") as file:
        lines = file.readlines()
    graph = bt2.Graph()
    source = graph.add_component(Source, "source", obj=lines)
    muxer = graph.add_component(bt2.find_plugin("utils").filter_component_classes["muxer"], "muxer")
    params = {"path": directory, "assume-single-trace": True, "quiet": True}
    sink = graph.add_component(bt2.find_plugin("ctf").sink_component_classes["fs"], "sink", params=params)
    for port in list(source.output_ports.values()):
        free = next(p for p in muxer.input_ports.values() if not p.is_connected)
        graph.connect_ports(port, free)
    graph.connect_ports(muxer.output_ports["out"], sink.input_ports["in"])
    graph.run()


main()
