// SPDX-License-Identifier: GPL-2.0-only
import type { Chart, Row, Spec } from '../chart';
import { distinct, grouped } from '../contract';
import { finite, recordingsOf, room } from '../chart';
import { fitted, INK, type Look } from '../look';
import { quantity, signed, UNKNOWN } from '../text';

type Measure = Row<'measures'>;

/** The best of each measure among governors that could be chosen: bounds and lone rows are not marked. */
export function bestOf(rows: Measure[]): Set<Measure> {
  const out = new Set<Measure>();
  for (const group of grouped(rows, (r) => JSON.stringify([r.recording, r.measure])).values()) {
    const real = group.filter((r) => r.role !== 'bound' && finite(r.value));
    const better = group[0]!.better;
    if (real.length < 2 || !better) continue;
    const values = real.map((r) => r.value as number);
    const best = better === 'less' ? Math.min(...values) : Math.max(...values);
    // Where all are equal none is best.
    if (values.every((v) => v === best)) continue;
    // What is no shown change is no best value either, nor is the baseline where that of another is none.
    const unclear = real.some((r) => r.shown === 'nothing');
    const competes = (r: Measure) => r.shown !== 'nothing' && !(unclear && r.role === 'baseline');
    for (const r of real) if (r.value === best && competes(r)) out.add(r);
  }
  return out;
}

export const measures: Chart = {
  name: 'measures',
  title: 'The comparison',
  about: 'Changes are against the baseline. The best of each measure is bold; bounds do not compete.',
  tables: ['measures'],
  draw(tables, look): Spec | null {
    const rows = tables.rows('measures');
    if (rows.length === 0) return null;
    const recordings = recordingsOf(rows);
    const parts = recordings.names.map((name) =>
      table(
        rows.filter((r) => r.recording === name),
        recordings.title(name),
        look,
      ),
    );
    return parts.length === 1 ? parts[0]! : { vconcat: parts, spacing: 18 };
  },
};

/** Measures down, governors across; in blocks where the governors do not fit. */
function table(rows: Measure[], title: string, look: Look): Spec {
  const ink = INK[look.theme];
  const whole = room(look);
  const best = bestOf(rows);
  const labels = distinct(rows.map((r) => r.measure)).map((m) => rows.find((r) => r.measure === m)!);
  const mark = (r: Measure) => (r.better === 'less' ? ' \u2193' : r.better === 'more' ? ' \u2191' : '');
  const left = Math.ceil(
    Math.min(whole * 0.36, Math.max(...labels.map((r) => look.measure(r.label + mark(r), 11))) + 8),
  );
  const governors = distinct(rows.map((r) => r.governor));
  const cell = (r: Measure | undefined) => (r ? quantity(r.value, r.unit) : UNKNOWN);
  const change = (r: Measure | undefined) =>
    r && r.role !== 'baseline' && finite(r.change) ? signed(r.change, r.change_unit) : '';
  const widths = governors.map(
    (g) =>
      Math.max(
        look.measure(g, 11, true),
        ...rows
          .filter((r) => r.governor === g)
          .flatMap((r) => [look.measure(cell(r), 11, true), look.measure(change(r), 9.5)]),
      ) + 16,
  );
  const most = Math.min(150, Math.max(...widths));
  const across = Math.max(1, Math.floor((whole - left) / most));
  const texts: Record<string, unknown>[] = [];
  const rules: Record<string, unknown>[] = [];
  let y = 0;
  for (let from = 0; from < governors.length; from += across) {
    const some = governors.slice(from, from + across);
    const step = Math.min(
      150,
      Math.floor(
        (whole - left) / Math.min(across, Math.max(some.length, Math.min(governors.length, across))),
      ),
    );
    y += 14;
    some.forEach((g, i) =>
      texts.push({
        x: left + (i + 1) * step,
        y,
        text: fitted(look, g, 11, step - 8, true),
        align: 'right',
        bold: true,
        color: ink.text,
        size: 11,
      }),
    );
    y += 10;
    rules.push({ y, end: left + some.length * step, color: ink.quiet });
    for (const label of labels) {
      y += 14;
      texts.push({
        x: 0,
        y,
        text: fitted(look, label.label + mark(label), 11, left - 4),
        align: 'left',
        bold: false,
        color: ink.quiet,
        size: 11,
      });
      let two = false;
      some.forEach((g, i) => {
        const r = rows.find((row) => row.governor === g && row.measure === label.measure);
        const x = left + (i + 1) * step;
        const isBest = r !== undefined && best.has(r);
        texts.push({
          x,
          y,
          text: cell(r),
          align: 'right',
          bold: isBest,
          color: r?.role === 'bound' ? ink.quiet : ink.text,
          size: 11,
        });
        const c = change(r);
        if (c !== '') {
          two = true;
          texts.push({ x, y: y + 12, text: c, align: 'right', bold: false, color: ink.quiet, size: 9.5 });
        }
      });
      y += two ? 20 : 8;
      rules.push({ y, end: left + some.length * step, color: ink.faint });
    }
    y += 12;
  }
  const position = (field: string, size: number, flip = false) => ({
    field,
    type: 'quantitative',
    axis: null,
    scale: { domain: flip ? [size, 0] : [0, size], nice: false, zero: false },
  });
  const height = y;
  const text = (align: string, bold: boolean, size: number): Spec => ({
    data: { values: texts.filter((t) => t['align'] === align && t['bold'] === bold && t['size'] === size) },
    mark: { type: 'text', align, baseline: 'middle', fontSize: size, fontWeight: bold ? 'bold' : 'normal' },
    encoding: {
      x: position('x', whole),
      y: position('y', height, true),
      text: { field: 'text', type: 'nominal' },
      color: { field: 'color', type: 'nominal', scale: null, legend: null },
    },
  });
  return {
    width: whole,
    height,
    title: title === '' ? undefined : { text: fitted(look, title, 12, whole, true) },
    layer: [
      {
        data: { values: rules.map((r) => ({ ...r, x: 0 })) },
        mark: { type: 'rule' },
        encoding: {
          x: position('x', whole),
          x2: { field: 'end' },
          y: position('y', height, true),
          color: { field: 'color', type: 'nominal', scale: null, legend: null },
        },
      },
      text('left', false, 11),
      text('right', false, 11),
      text('right', true, 11),
      text('right', false, 9.5),
    ],
  };
}
