# SPDX-License-Identifier: GPL-2.0-only
"""Runs Perfetto's SQL modules in SQLite, over tables of the shape that Perfetto's trace processor makes of a trace.

sql.py FOLDER TRACE QUERY...   FOLDER holds MODULE.sql files, which are called idlewise.MODULE; each result as a line of JSON

The tables: counter and cpu_counter_track of cpu_idle events, slice and track of track events, args of both, ftrace_event of cpu_idle_miss.
What SQLite does not know is translated: INCLUDE PERFETTO MODULE, CREATE PERFETTO TABLE, VIEW and MACRO, NAME!(...), EXTRACT_ARG.
"""

import json
import re
import sqlite3
import sys
from pathlib import Path

from google.protobuf import descriptor_pb2, unknown_fields
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb

TABLES = """
CREATE TABLE cpu_counter_track (id INT, name TEXT, cpu INT);
CREATE TABLE counter (id INT, ts INT, track_id INT, value REAL);
CREATE TABLE track (id INT, name TEXT, parent_id INT);
CREATE TABLE slice (id INT, ts INT, dur INT, track_id INT, category TEXT, name TEXT, depth INT, arg_set_id INT);
CREATE TABLE ftrace_event (id INT, ts INT, name TEXT, cpu INT, arg_set_id INT);
CREATE TABLE args (arg_set_id INT, key TEXT, int_value INT, string_value TEXT);
"""


class Processor:
    def __init__(self, modules, trace):
        self.db = sqlite3.connect(":memory:")
        self.db.executescript(TABLES)
        self.sets, self.arguments = 0, {}
        self.db.create_function("EXTRACT_ARG", 2, lambda of, key: self.arguments.get((of, key)), deterministic=True)
        self.modules, self.included, self.macros = modules, set(), {}
        self.load(trace)

    # Tables

    def insert(self, table, *values):
        self.db.execute(f"INSERT INTO {table} VALUES ({', '.join('?' * len(values))})", values)

    def args(self, values):
        self.sets += 1
        for key, value in values.items():
            self.arguments[(self.sets, key)] = value
            text = isinstance(value, str)
            self.insert("args", self.sets, key, None if text else value, value if text else None)
        return self.sets

    def load(self, path):
        trace = pb.Trace()
        trace.ParseFromString(Path(path).read_bytes())
        described, opened, ids = {}, {}, iter(range(10**9))
        for packet in trace.packet:
            bundle = packet.ftrace_events
            for one in bundle.generic_event_descriptors:
                message = descriptor_pb2.DescriptorProto()
                message.ParseFromString(one.event_descriptor)
                described[one.field_id] = message
            for event in bundle.event:
                if event.HasField("cpu_idle"):
                    cpu = event.cpu_idle.cpu_id
                    if not self.db.execute("SELECT 1 FROM cpu_counter_track WHERE id = ?", (cpu,)).fetchone():
                        self.insert("cpu_counter_track", cpu, "cpuidle", cpu)
                    self.insert("counter", next(ids), event.timestamp, cpu, float(event.cpu_idle.state))
                self.generic(event, bundle.cpu, described, ids)
            if packet.HasField("track_descriptor"):
                d = packet.track_descriptor
                self.insert("track", d.uuid, d.name, d.parent_uuid or None)
            if packet.HasField("track_event"):
                self.track_event(packet.timestamp, packet.track_event, opened, ids)
        assert not any(opened.values()), "slices without an end"

    def generic(self, event, cpu, described, ids):
        for unknown in unknown_fields.UnknownFieldSet(event):
            message = described.get(unknown.field_number)
            if message is None or message.name != "cpu_idle_miss":
                continue
            names = {f.number: f.name for f in message.field}
            values, at = {}, 0
            while at < len(unknown.data):
                tag, at = unknown.data[at], at + 1
                value, shift = 0, 0
                while True:
                    byte, at = unknown.data[at], at + 1
                    value, shift = value | (byte & 127) << shift, shift + 7
                    if byte < 128:
                        break
                values[names[tag >> 3]] = value
            self.insert("ftrace_event", next(ids), event.timestamp, "cpu_idle_miss", cpu, self.args(values))

    def track_event(self, ts, e, opened, ids):
        stack = opened.setdefault(e.track_uuid, [])
        kind = pb.TrackEvent.Type.Name(e.type)
        if kind == "TYPE_SLICE_END":
            row, began = stack.pop()
            self.db.execute("UPDATE slice SET dur = ? WHERE id = ?", (ts - began, row))
            return
        notes = {f"debug.{a.name}": getattr(a, a.WhichOneof("value")) for a in e.debug_annotations}
        row = next(ids)
        category = ",".join(e.categories)
        self.insert("slice", row, ts, 0, e.track_uuid, category, e.name, len(stack), self.args(notes) if notes else None)
        if kind == "TYPE_SLICE_BEGIN":
            stack.append((row, ts))

    # SQL

    def include(self, module):
        package, _, name = module.partition(".")
        assert package == "idlewise", f"no package {package}"
        if module in self.included:
            return
        self.included.add(module)
        self.run((self.modules / f"{name}.sql").read_text())

    def run(self, text):
        """Runs the statements; the rows of the last."""
        rows = []
        for statement in self.statements(text):
            include = re.fullmatch(r"INCLUDE PERFETTO MODULE ([\w.]+)", statement)
            macro = re.fullmatch(r"CREATE PERFETTO MACRO (\w+)\((.*?)\)\s*RETURNS \w+ AS (.*)", statement, re.DOTALL)
            if include:
                self.include(include[1])
            elif macro:
                names = [one.split()[0] for one in macro[2].split(",")]
                self.macros[macro[1]] = (names, macro[3])
            else:
                sql = re.sub(r"^CREATE PERFETTO (TABLE|VIEW)", r"CREATE \1", self.expanded(statement))
                assert "PERFETTO" not in sql, sql
                cursor = self.db.execute(sql)
                names = [column[0] for column in cursor.description or []]
                rows = [dict(zip(names, row)) for row in cursor]
        return rows

    @staticmethod
    def statements(text):
        text = "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("--"))
        return [one.strip() for one in text.split(";") if one.strip()]

    def expanded(self, sql):
        while found := re.search(r"(\w+)!\(", sql):
            parts, depth, at, begin = [], 1, found.end(), found.end()
            while depth:
                letter = sql[at]
                depth += (letter == "(") - (letter == ")")
                if (letter == "," and depth == 1) or depth == 0:
                    parts.append(sql[begin:at].strip())
                    begin = at + 1
                at += 1
            names, body = self.macros[found[1]]
            assert len(names) == len(parts), f"{found[1]}! takes {names}"
            values = dict(zip(names, parts))
            sql = sql[: found.start()] + re.sub(r"\$(\w+)", lambda name: values[name[1]], body) + sql[at:]
        return sql


processor = Processor(Path(sys.argv[1]), sys.argv[2])
for query in sys.argv[3:]:
    print(json.dumps(processor.run(query)))
