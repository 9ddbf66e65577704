// SPDX-License-Identifier: GPL-2.0-only
// The widths of a font's characters, from the font as npm has it (WOFF: tables, each deflated).

import { inflateSync } from 'node:zlib';

/** Units of an em, and the advance of each character. */
export function widthsOf(woff: Buffer): { em: number; of: Record<string, number> } {
  const tables = new Map<string, Buffer>();
  for (let i = 0; i < woff.readUInt16BE(12); i += 1) {
    const at = 44 + 20 * i;
    const offset = woff.readUInt32BE(at + 4);
    const packed = woff.subarray(offset, offset + woff.readUInt32BE(at + 8));
    tables.set(
      woff.toString('latin1', at, at + 4),
      packed.length < woff.readUInt32BE(at + 12) ? inflateSync(packed) : packed,
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
