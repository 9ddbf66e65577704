# SPDX-License-Identifier: GPL-2.0-only
"""Packs an uncompressed trace.dat of version 7 with Python's zlib: pack_zlib.py IN OUT.

Debian's trace-cmd knows zstd only, so this is the second opinion on zlib."""

import struct
import sys
import zlib

SECTION = "<HHIQ"
PAGES_A_CHUNK = 10


def text(data, at):
    end = data.index(b"\0", at) + 1
    return data[at:end], end


def section(data, at):
    number, flags, _, size = struct.unpack_from(SECTION, data, at)
    assert flags == 0, "packed already"
    return number, data[at + 16 : at + 16 + size]


def options(data, at):
    """The options of all sections of the chain."""
    while at:
        _, body = section(data, at)
        at, pos = 0, 0
        while pos < len(body):
            number, size = struct.unpack_from("<HI", body, pos)
            value = body[pos + 6 : pos + 6 + size]
            pos += 6 + size
            if number == 0:
                (at,) = struct.unpack("<Q", value)
                break
            yield number, value


def packed(data):
    small = zlib.compress(data, 9)
    return struct.pack("<II", len(small), len(data)) + small


def buffer(data, value, out):
    """Packs the pages of one instance to the end of `out`; gives the option that describes them."""
    place = len(out)
    name, at = text(value, 8)
    clock, at = text(value, at)
    page_size, cpus = struct.unpack_from("<II", value, at)
    option = struct.pack("<Q", place) + name + clock + struct.pack("<II", page_size, cpus)
    out += struct.pack(SECTION, 3, 1, 0, 0)
    for k in range(cpus):
        cpu, offset, size = struct.unpack_from("<IQQ", value, at + 8 + 20 * k)
        pages, step = data[offset : offset + size], PAGES_A_CHUNK * page_size
        chunks = [packed(pages[i : i + step]) for i in range(0, size, step)]
        # The size leaves out the count of chunks.
        option += struct.pack("<IQQ", cpu, len(out), sum(map(len, chunks)))
        if size:
            out += struct.pack("<I", len(chunks)) + b"".join(chunks)
    struct.pack_into("<Q", out, place + 8, len(out) - place - 16)
    return option


def main():
    data = open(sys.argv[1], "rb").read()
    start = data.index(b"none\0")
    _, pointer = text(data, start + 5)
    out = bytearray(data[:start] + b"zlib\0" + b"1.2.13\0")
    out_pointer = len(out)
    out += bytes(8)
    written = b""
    for number, value in options(data, struct.unpack_from("<Q", data, pointer)[0]):
        if 16 <= number <= 21:
            at = struct.unpack("<Q", value)[0]
            value = struct.pack("<Q", len(out))
            body = packed(section(data, at)[1])
            out += struct.pack(SECTION, number, 1, 0, len(body)) + body
        elif number == 3:
            value = buffer(data, value, out)
        written += struct.pack("<HI", number, len(value)) + value
    written += struct.pack("<HIQ", 0, 8, 0)
    struct.pack_into("<Q", out, out_pointer, len(out))
    out += struct.pack(SECTION, 0, 0, 0, len(written)) + written
    open(sys.argv[2], "wb").write(out)


main()
