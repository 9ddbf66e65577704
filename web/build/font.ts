// SPDX-License-Identifier: GPL-2.0-only
// From the font as npm has it (WOFF: tables, each deflated) to what PNGs are drawn with (the plain font), and to the
// widths of its characters.

import { inflateSync } from 'node:zlib';

/** The same font without compression. */
export function plainFont(woff: Buffer): Buffer {
  const count = woff.readUInt16BE(12);
  const entries = Array.from({ length: count }, (_, i) => {
    const at = 44 + 20 * i;
    const offset = woff.readUInt32BE(at + 4);
    const packed = woff.subarray(offset, offset + woff.readUInt32BE(at + 8));
    const length = woff.readUInt32BE(at + 12);
    return {
      tag: woff.subarray(at, at + 4),
      check: woff.readUInt32BE(at + 16),
      data: packed.length < length ? inflateSync(packed) : packed,
    };
  });
  const power = 2 ** Math.floor(Math.log2(count));
  const head = Buffer.alloc(12 + 16 * count);
  woff.copy(head, 0, 4, 8);
  head.writeUInt16BE(count, 4);
  head.writeUInt16BE(power * 16, 6);
  head.writeUInt16BE(Math.log2(power), 8);
  head.writeUInt16BE(count * 16 - power * 16, 10);
  const parts: Buffer[] = [head];
  let offset = head.length;
  entries.forEach(({ tag, check, data }, i) => {
    const at = 12 + 16 * i;
    tag.copy(head, at);
    head.writeUInt32BE(check, at + 4);
    head.writeUInt32BE(offset, at + 8);
    head.writeUInt32BE(data.length, at + 12);
    const padded = Buffer.alloc((data.length + 3) & ~3);
    data.copy(padded);
    parts.push(padded);
    offset += padded.length;
  });
  return Buffer.concat(parts);
}

/** Units of an em, and the advance of each character. */
export function widthsOf(font: Buffer): { em: number; of: Record<string, number> } {
  const tables = new Map<string, Buffer>();
  for (let i = 0; i < font.readUInt16BE(4); i += 1) {
    const at = 12 + 16 * i;
    const offset = font.readUInt32BE(at + 8);
    tables.set(
      font.toString('latin1', at, at + 4),
      font.subarray(offset, offset + font.readUInt32BE(at + 12)),
    );
  }
  const table = (tag: string): Buffer => {
    const t = tables.get(tag);
    if (!t) throw new Error(`the font has no ${tag}`);
    return t;
  };
  const em = table('head').readUInt16BE(18);
  const measured = table('hhea').readUInt16BE(34);
  const advance = (glyph: number) => table('hmtx').readUInt16BE(4 * Math.min(glyph, measured - 1));
  const cmap = table('cmap');
  const of: Record<string, number> = {};
  for (let i = 0; i < cmap.readUInt16BE(2); i += 1) {
    const sub = cmap.subarray(cmap.readUInt32BE(8 + 8 * i));
    if (sub.readUInt16BE(0) !== 4) continue;
    const segments = sub.readUInt16BE(6) / 2;
    for (let s = 0; s < segments; s += 1) {
      const end = sub.readUInt16BE(14 + 2 * s);
      const start = sub.readUInt16BE(16 + 2 * segments + 2 * s);
      const delta = sub.readUInt16BE(16 + 4 * segments + 2 * s);
      const rangeAt = 16 + 6 * segments + 2 * s;
      const range = sub.readUInt16BE(rangeAt);
      for (let c = start; c <= end && c < 0xffff; c += 1) {
        let glyph = (c + delta) & 0xffff;
        if (range !== 0) {
          glyph = sub.readUInt16BE(rangeAt + range + 2 * (c - start));
          if (glyph !== 0) glyph = (glyph + delta) & 0xffff;
        }
        if (glyph !== 0) of[String.fromCharCode(c)] = advance(glyph);
      }
    }
  }
  return { em, of };
}
