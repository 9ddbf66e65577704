#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Cuts a perf.data (little-endian, of a file or of a pipe, not compressed) to some events and a part of its time.

  tools/cut-perf.py IN OUT FROM_MS TO_MS SYSTEM:EVENT...

Samples of other events or outside of the time, counted from the first sample, go, and so do other records but marks, with
what describes them: formats, names of tasks and files, facts about the machine. What stays is not touched, but for the
local suffix of the kernel's release.
"""
import struct
import sys

KEPT_RECORDS = {68, 82}  # FINISHED_ROUND, FINISHED_INIT
KEPT_FEATURES = {4, 5, 6, 7, 23, 29}  # OSRELEASE, VERSION, ARCH, NRCPUS, CLOCKID, CLOCK_DATA


def feature(number, data):
    if number == 4:
        release = data[4:].split(b"\0")[0].split(b"-")[0]
        data = data[:4] + release.ljust(len(data) - 4, b"\0")
    return data


def tracing_data(data, wanted):
    """Leaves out formats of other events, printk formats and names of tasks."""
    at = data.index(b"\0", 10) + 1 + 6
    for word in (b"header_page\0", b"header_event\0"):
        at += len(word) + 8 + struct.unpack_from("<Q", data, at + len(word))[0]
    out, ids = bytearray(data[:at]), {}
    assert struct.unpack_from("<I", data, at)[0] == 0, "formats of ftrace's own events"
    (systems,) = struct.unpack_from("<I", data, at + 4)
    at += 8
    kept = []
    for _ in range(systems):
        end = data.index(b"\0", at)
        system = data[at:end].decode()
        (n,) = struct.unpack_from("<I", data, end + 1)
        at = end + 5
        formats = []
        for _ in range(n):
            (size,) = struct.unpack_from("<Q", data, at)
            text = data[at + 8 : at + 8 + size]
            at += 8 + size
            lines = text.decode().splitlines()
            name = lines[0].split(": ")[1]
            if f"{system}:{name}" in wanted:
                ids[int(lines[1].split(": ")[1])] = name
                formats.append(struct.pack("<Q", size) + text)
        if formats:
            kept.append(system.encode() + b"\0" + struct.pack("<I", len(formats)) + b"".join(formats))
    out += struct.pack("<II", 0, len(kept)) + b"".join(kept) + struct.pack("<IIQ", 0, 0, 0)
    return bytes(out), ids


def split(data, at, end):
    while at < end:
        kind, _, size = struct.unpack_from("<IHH", data, at)
        behind = 0
        if kind == 66:
            behind = struct.unpack_from("<I", data, at + 8)[0]
        yield kind, data[at : at + size], data[at + size : at + size + behind]
        at += size + behind


def cut(records, ids, start_ns, end_ns):
    # A sample starts with its identifier; the time is behind instruction pointer and task.
    samples = [struct.unpack_from("<Q", r, 32)[0] for kind, r, _ in records if kind == 9]
    first = min(samples)
    for kind, record, _ in records:
        if kind in KEPT_RECORDS:
            yield record
        elif kind == 9 and struct.unpack_from("<Q", record, 8)[0] in ids:
            if start_ns <= struct.unpack_from("<Q", record, 32)[0] - first < end_ns:
                yield record


def cut_pipe(data, wanted, start_ns, end_ns):
    records = list(split(data, 16, len(data)))
    tracing, tracepoints = next(tracing_data(b, wanted) for kind, _, b in records if kind == 66)
    out, ids = bytearray(data[:16]), set()
    for kind, record, _ in records:
        if kind == 64 and struct.unpack_from("<I", record, 8)[0] == 2:
            size, config = struct.unpack_from("<IQ", record, 12)
            if config in tracepoints:
                ids.update(struct.unpack_from(f"<{(len(record) - 8 - size) // 8}Q", record, 8 + size))
                out += record
        elif kind == 80 and record[8] in KEPT_FEATURES:
            out += record[:16] + feature(record[8], record[16:])
    tracing += b"\0" * (-len(tracing) % 8)
    out += struct.pack("<IHHII", 66, 0, 16, len(tracing), 0) + tracing
    return bytes(out) + b"".join(cut(records, ids, start_ns, end_ns))


def cut_file(data, wanted, start_ns, end_ns):
    _, each, attrs_at, attrs_size, data_at, data_size = struct.unpack_from("<6Q", data, 8)
    bits, table, features = int.from_bytes(data[72:104], "little"), data_at + data_size, {}
    for number in (n for n in range(256) if bits >> n & 1):
        at, size = struct.unpack_from("<QQ", data, table)
        features[number] = data[at : at + size]
        table += 16
    tracing, tracepoints = tracing_data(features[1], wanted)
    attrs, ids = [], []
    for at in range(attrs_at, attrs_at + attrs_size, each):
        kind, _, config = struct.unpack_from("<IIQ", data, at)
        if kind == 2 and config in tracepoints:
            ids_at, size = struct.unpack_from("<QQ", data, at + each - 16)
            attrs.append(data[at : at + each - 16])
            ids.append(data[ids_at : ids_at + size])
    flat = [i[0] for i in struct.iter_unpack("<Q", b"".join(ids))]
    records = b"".join(cut(list(split(data, data_at, data_at + data_size)), flat, start_ns, end_ns))
    features = {n: feature(n, f) for n, f in features.items() if n in KEPT_FEATURES}
    features[1] = tracing
    ids_at = 104 + each * len(attrs)
    data_at = ids_at + 8 * len(flat)
    header = struct.pack("<8s8Q", data[:8], 104, each, 104, each * len(attrs), data_at, len(records), 0, 0)
    out = bytearray(header + sum(1 << n for n in features).to_bytes(32, "little"))
    for attr, own in zip(attrs, ids):
        out += attr + struct.pack("<QQ", ids_at, len(own))
        ids_at += len(own)
    out += b"".join(ids) + records
    at = len(out) + 16 * len(features)
    for number in sorted(features):
        out += struct.pack("<QQ", at, len(features[number]))
        at += len(features[number])
    return bytes(out) + b"".join(features[n] for n in sorted(features))


def main():
    source, target, start_ms, end_ms, *wanted = sys.argv[1:]
    with open(source, "rb") as f:
        data = f.read()
    assert data[:8] == b"PERFILE2", "not a little-endian perf.data"
    work = cut_pipe if struct.unpack_from("<Q", data, 8)[0] == 16 else cut_file
    with open(target, "wb") as f:
        f.write(work(data, set(wanted), int(start_ms) * 10**6, int(end_ms) * 10**6))


main()
