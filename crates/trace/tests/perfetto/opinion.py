# SPDX-License-Identifier: GPL-2.0-only
"""Perfetto's own messages (PyPI: perfetto, protobuf) as a second opinion on the reader of Perfetto traces.

opinion.py make FOLDER   traces of every feature, by chance but the same on every run
opinion.py print FILE    every ftrace event, one a line, as `trace-cmd report -t -R` prints them
opinion.py check FILE    exit status 1 if a message holds fields that the descriptors do not have
opinion.py tracks FILE   every track event: track, begin or end or instant, time, name, annotations
"""

import os
import random
import sys
import zlib

from google.protobuf import descriptor_pb2, unknown_fields
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb

EVENTS = {f.name: f for f in pb.FtraceEvent.DESCRIPTOR.fields if f.message_type}
TEXT, BYTES = 9, 12
READ = """cpu_idle cpu_frequency sched_switch sched_waking sched_wakeup sched_wakeup_new sched_migrate_task
sched_blocked_reason irq_handler_entry irq_handler_exit softirq_entry softirq_exit softirq_raise ipi_entry ipi_exit
hrtimer_start hrtimer_cancel hrtimer_expire_entry hrtimer_expire_exit timer_start timer_cancel timer_expire_entry
timer_expire_exit local_timer_entry local_timer_exit""".split()
NOT_READ = ["print", "clock_set_rate", "sched_process_exit", "kvm_entry", "ipi_raise", "psci_domain_idle_enter"]
SYMBOLS = ["tick_nohz_handler", "hrtimer_wakeup", "process_timeout", "delayed_work_timer_fn"]
REASONS = ["Rescheduling interrupts", "IRQ work interrupts", "Timer broadcast interrupts", "CPU stop interrupts"]
# Events that Perfetto has no message for: system, fields in order.
GENERIC = {
    "tick_stop": ("timer", ["success", "dependency"]),
    "cpu_idle_miss": ("power", ["cpu_id", "state", "below"]),
    "timer_base_idle": ("timer", ["is_idle", "cpu"]),
    "ipi_send_cpu": ("ipi", ["cpu", "callsite"]),
    "reschedule_entry": ("irq_vectors", ["vector"]),
    "block_dirty": ("made_up", ["comm", "sector"]),
}
FIRST_GENERIC = 65536


def packets(trace):
    for packet in trace.packet:
        if packet.HasField("compressed_packets"):
            inner = pb.Trace()
            inner.ParseFromString(zlib.decompress(packet.compressed_packets))
            yield from packets(inner)
        else:
            yield packet


def load(path):
    trace = pb.Trace()
    with open(path, "rb") as f:
        trace.ParseFromString(f.read())
    return trace


# Printing


def varints(data):
    value, shift = 0, 0
    for byte in data:
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            yield value & (2**64 - 1)
            value, shift = 0, 0


def fields_of(message, symbols):
    out = []
    # A handler's name ends the line, as in the kernel's text.
    for f, value in sorted(message.ListFields(), key=lambda fv: (fv[0].name == "name", fv[0].number)):
        if f.name == "function":
            value = symbols.get(value, hex(value) if value >= 1 << 20 else "0x0")
        elif f.name == "prev_state":
            value &= 2**64 - 1
        out.append((f.name, value))
    return out


def described(data, descriptor):
    """The fields of an event's bytes by a description from the trace."""
    names = {f.number: f for f in descriptor.field}
    out, at = [], 0
    while at < len(data):
        tag, at = data[at], at + 1
        f = names[tag >> 3]
        end = at
        while data[end] >= 0x80:
            end += 1
        value = next(varints(data[at : end + 1]))
        at = end + 1
        if f.type in (TEXT, BYTES):
            value, at = data[at : at + value].decode(), at + value
        elif value >= 2**63 and f.type in (3, 5):
            value -= 2**64
        out.append((f.name, value))
    return out


def print_events(path):
    epochs, symbols, generic, rows, running = {}, {}, {}, [], {}
    for packet in packets(load(path)):
        writer = packet.trusted_packet_sequence_id
        if packet.incremental_state_cleared or packet.sequence_flags & 1:
            epochs[writer] = epochs.get(writer, 0) + 1
        table = symbols.setdefault((writer, epochs.get(writer, 0)), {})
        for symbol in packet.interned_data.kernel_symbols:
            table[symbol.iid] = symbol.str.decode()
        if not packet.HasField("ftrace_events"):
            continue
        bundle = packet.ftrace_events
        for d in bundle.generic_event_descriptors:
            message = descriptor_pb2.DescriptorProto()
            message.ParseFromString(d.event_descriptor)
            generic[d.field_id] = message
        mine = []
        for event in bundle.event:
            name, fields = "?", []
            for f, value in event.ListFields():
                if f.name == "generic":
                    name = value.event_name
                    for part in value.field:
                        kind = part.WhichOneof("value")
                        fields.append((part.name, getattr(part, kind)))
                elif f.message_type:
                    name, fields = f.name, fields_of(value, table)
            for unknown in unknown_fields.UnknownFieldSet(event):
                descriptor = generic.get(unknown.field_number)
                if descriptor is None:
                    name = str(unknown.field_number)
                else:
                    name, fields = descriptor.name, described(unknown.data, descriptor)
            mine.append((event.timestamp, event.pid, name, fields))
        compact = bundle.compact_sched
        now = 0
        for i, delta in enumerate(compact.switch_timestamp):
            now += delta
            fields = [
                ("prev_state", compact.switch_prev_state[i]),
                ("next_pid", compact.switch_next_pid[i]),
                ("next_prio", compact.switch_next_prio[i]),
            ]
            mine.append((now, None, "sched_switch", fields))
        now = 0
        for i, delta in enumerate(compact.waking_timestamp):
            now += delta
            fields = [("pid", compact.waking_pid[i]), ("target_cpu", compact.waking_target_cpu[i])]
            mine.append((now, None, "sched_waking", fields))
        mine.sort(key=lambda row: row[0])
        cpu = (bundle.cpu, writer)
        if bundle.lost_events:
            running[cpu] = (-1, -1)
        for ts, pid, name, fields in mine:
            known, prio = running.get(cpu, (-1, -1))
            if pid is None:
                pid = known
                if name == "sched_switch":
                    fields = [("prev_pid", known), ("prev_prio", prio)] + fields
            elif pid != known:
                known, prio = pid, -1
            values = dict(fields)
            if name == "sched_switch":
                known, prio = values["next_pid"], values["next_prio"]
            running[cpu] = (known, prio)
            rows.append((ts, cpu, pid, name, fields))
    rows.sort(key=lambda row: row[:2])
    for ts, cpu, pid, name, fields in rows:
        words = " ".join(f"{key}={value}".replace("\n", " ") for key, value in fields)
        print(f"x-{pid} [{cpu[0]:03}] {ts // 10**9}.{ts % 10**9:09}: {name}: {words}")


def unknown_in(message, path):
    for unknown in unknown_fields.UnknownFieldSet(message):
        # The descriptions of generic events, and these events, are no part of the package.
        if not (path.endswith(".event") and unknown.field_number >= FIRST_GENERIC):
            yield f"{path}: field {unknown.field_number}"
    for f, value in message.ListFields():
        if f.message_type:
            for one in value if f.is_repeated else [value]:
                yield from unknown_in(one, f"{path}.{f.name}")


def print_tracks(path):
    tracks = {}
    kinds = {1: "begin", 2: "end", 3: "instant", 4: "counter"}
    for packet in packets(load(path)):
        if packet.HasField("track_descriptor"):
            d = packet.track_descriptor
            tracks[d.uuid] = (tracks.get(d.parent_uuid, "") + "/" if d.parent_uuid else "") + d.name
        if packet.HasField("track_event"):
            e = packet.track_event
            notes = []
            for a in e.debug_annotations:
                kind = a.WhichOneof("value")
                notes.append(f"{a.name}={getattr(a, kind)}")
            print("\t".join([tracks[e.track_uuid], kinds[e.type], str(packet.timestamp), e.name, *notes]))


# Making


def number(chance, f):
    small = chance.randrange(0, 9)
    if "cpu" in f.name:
        return chance.choice([small, small, 0, 65535])
    if f.name in ("vec", "state"):
        return chance.choice([small, small, 0, 2**32 - 1 if f.type == 13 else 3])
    if f.name.endswith("pid"):
        return chance.choice([small, 0, -1, 4194304])
    if f.name in ("expires", "now", "bucket_expiry", "nextevt"):
        # Events with times that no clock can have are not handed out; KTIME_MAX is for a timer that never expires.
        never = [2**63 - 1] if f.name == "expires" and f.type == 3 else []
        return chance.choice([small, 0, chance.getrandbits(20), *never])
    if f.type in (3, 5):
        bits = 63 if f.type == 3 else 31
        return chance.choice([small, -1, 0, 2**bits - 1, -(2**bits), chance.getrandbits(bits)])
    if f.type == 8:
        return chance.random() < 0.5
    bits = 64 if f.type == 4 else 32
    return chance.choice([small, 0, 2**bits - 1, chance.getrandbits(bits)])


def fill(chance, message, iids):
    for f in message.DESCRIPTOR.fields:
        if f.message_type or f.is_repeated:
            continue
        if f.name == "function":
            value = chance.choice(iids + [0xFFFF_FFFF_8000_1000, 77])
        elif f.name == "reason":
            value = chance.choice(REASONS)
        elif f.name == "irq":
            # An interrupt keeps its name.
            value = 30
        elif f.name == "name":
            value = "timer"
        elif f.type == TEXT:
            value = chance.choice(["kworker/0:1", "", "Ünï", "B|12|what=now", "a" * 300])
        else:
            value = number(chance, f)
        setattr(message, f.name, value)


def raw_varint(value):
    out = bytearray()
    value &= 2**64 - 1
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def raw(number, wire, data):
    head = raw_varint(number << 3 | wire)
    return head + (data if wire == 0 else raw_varint(len(data)) + data)


def add_descriptors(bundle):
    for i, (name, (system, fields)) in enumerate(GENERIC.items()):
        message = descriptor_pb2.DescriptorProto(name=name)
        for n, key in enumerate(fields, 1):
            message.field.add(name=key, number=n, type=TEXT if key == "comm" else 4 if n % 2 else 3, label=1)
        bundle.generic_event_descriptors.add(
            field_id=FIRST_GENERIC + i, group_name=system, event_descriptor=message.SerializeToString()
        )


def make_event(chance, event, iids, style):
    event.pid = chance.choice([0, 0, 1, 77, 4194304])
    what = chance.random()
    if what < 0.75:
        fill(chance, getattr(event, chance.choice(READ)), iids)
    elif what < 0.85:
        message = getattr(event, chance.choice(NOT_READ))
        message.SetInParent()
        fill(chance, message, iids)
    elif what < 0.97 and style != "plain":
        i = chance.randrange(len(GENERIC))
        name, (_, fields) = list(GENERIC.items())[i]
        values = {key: "sh" if key == "comm" else chance.randrange(2) for key in fields}
        if style == "legacy":
            event.generic.event_name = name
            for key, value in values.items():
                part = event.generic.field.add(name=key)
                if isinstance(value, str):
                    part.str_value = value
                elif value:
                    part.uint_value = value
                else:
                    part.int_value = value
        else:
            data = b""
            for n, value in enumerate(values.values(), 1):
                data += raw(n, 2, value.encode()) if isinstance(value, str) else raw(n, 0, raw_varint(value))
            event.MergeFromString(raw(FIRST_GENERIC + i, 2, data))
    else:
        event.MergeFromString(raw(4242, 2, b"\x08\x01"))


def make_trace(seed):
    chance = random.Random(seed)
    style = ["plain", "legacy", "described"][seed % 3]
    with_compact, deflate, many_writers = seed % 2 == 1, seed % 4 >= 2, seed % 5 == 4
    trace = pb.Trace()
    trace.packet.add(trusted_uid=0).trace_uuid.lsb = 1
    clocks = trace.packet.add().clock_snapshot
    for clock, time in ((6, 5_000_000_000), (3, 4_000_000_000)):
        clocks.clocks.add(clock_id=clock, timestamp=time)
    clocks.primary_trace_clock = 6
    tree = trace.packet.add().process_tree
    tree.processes.add(pid=1, cmdline=["/sbin/init"])
    tree.threads.add(tid=77, tgid=77, name="worker")
    info = trace.packet.add().system_info
    info.utsname.release, info.utsname.machine, info.hz = "6.6.30-android15", "aarch64", 100
    cpus, now, left = 4, [10**12 + c * 777 for c in range(4)], []
    for round_ in range(40):
        for cpu in chance.sample(range(cpus), cpus):
            packet = pb.TracePacket()
            packet.trusted_packet_sequence_id = 3 + (cpu % 2 if many_writers else 0)
            if round_ % 13 == 0:
                packet.sequence_flags = 1
            iids = [cpu * 10 + i for i in range(1, 8)]
            if round_ % 13 == 0:
                # Numbers begin anew whenever the writer's tables do.
                first = cpu * 10 + chance.randrange(1, 5)
                for i, name in enumerate(chance.sample(SYMBOLS, 4)):
                    packet.interned_data.kernel_symbols.add(iid=first + i, str=name.encode())
            bundle = packet.ftrace_events
            bundle.cpu = cpu
            if style == "described":
                add_descriptors(bundle)
            bundle.lost_events = chance.random() < 0.1
            events = chance.randrange(0, 40)
            for _ in range(events):
                now[cpu] += chance.choice([0, 1, 50, 999, 10**6, 10**9 if chance.random() < 0.01 else 3])
                event = bundle.event.add(timestamp=now[cpu])
                make_event(chance, event, iids, style)
            if with_compact and chance.random() < 0.7:
                c, last = bundle.compact_sched, [0, 0]
                c.intern_table.extend(["swapper/0", "worker", "sh"])
                for _ in range(chance.randrange(1, 30)):
                    now[cpu] += chance.randrange(1, 10**5)
                    c.switch_timestamp.append(now[cpu] - last[0])
                    c.switch_prev_state.append(chance.choice([0, 1, 2, 128, 256, 1026]))
                    c.switch_next_pid.append(chance.choice([0, 77, 99]))
                    c.switch_next_prio.append(chance.choice([120, -1, 98]))
                    c.switch_next_comm_index.append(chance.randrange(3))
                    last[0] = now[cpu]
                    if chance.random() < 0.5:
                        now[cpu] += chance.randrange(1, 500)
                        c.waking_timestamp.append(now[cpu] - last[1])
                        c.waking_pid.append(chance.choice([1, 77]))
                        c.waking_target_cpu.append(chance.randrange(cpus))
                        c.waking_prio.append(120)
                        c.waking_comm_index.append(1)
                        c.waking_common_flags.append(1)
                        last[1] = now[cpu]
            left.append(packet)
            if chance.random() < 0.3:
                noise = pb.TracePacket(timestamp=now[cpu], trusted_packet_sequence_id=9)
                noise.android_log.SetInParent()
                left.append(noise)
        if deflate:
            inner = pb.Trace(packet=left)
            trace.packet.add().compressed_packets = zlib.compress(inner.SerializeToString())
        else:
            trace.packet.extend(left)
        left = []
    return trace


def main():
    what, path = sys.argv[1:]
    if what == "make":
        for seed in range(12):
            with open(os.path.join(path, f"{seed:02}.perfetto-trace"), "wb") as f:
                f.write(make_trace(seed).SerializeToString())
    elif what == "print":
        print_events(path)
    elif what == "tracks":
        print_tracks(path)
    elif what == "check":
        found = sorted({w for packet in packets(load(path)) for w in unknown_in(packet, "packet")})
        print("\n".join(found))
        sys.exit(1 if found else 0)


main()
