// SPDX-License-Identifier: GPL-2.0-only
import type { Chart, Row, Spec } from '../chart';
import { distinct } from '../contract';
import { labelRoom, NS_LABEL, partTitle, room, stateScale } from '../chart';
import { INK, type Look } from '../look';
import { duration } from '../text';
import type { Tables } from '../contract';
import { least } from '../extremes';

export type Period = Row<'timeline'>;

/** What of the timeline is drawn: one CPU of one recording, from one time to another. */
export interface Window {
  recording: string;
  cpu: number;
  from: number;
  to: number;
}

/** Lanes in the order of the table, the recording's first. */
export function lanes(rows: Period[]): string[] {
  const all = distinct(rows.map((r) => r.lane));
  const first = all.filter((lane) => rows.some((r) => r.lane === lane && r.governor === ''));
  return [...first, ...all.filter((lane) => !first.includes(lane))];
}

/** The first CPU, as far as forty periods of its first lane reach. */
export function firstWindow(rows: Period[]): Window | null {
  const first = rows[0];
  if (!first) return null;
  const mine = rows.filter((r) => r.recording === first.recording && r.cpu === first.cpu);
  const lane = lanes(mine)[0];
  const sorted = mine.filter((r) => r.lane === lane).sort((a, b) => a.start_ns - b.start_ns);
  const from = least(mine.map((r) => r.start_ns));
  const to = sorted[Math.min(39, sorted.length - 1)]?.end_ns ?? first.end_ns;
  return { recording: first.recording, cpu: first.cpu, from, to: Math.max(to, from + 1) };
}

/** The part of the lanes that a window shows. */
export function drawWindow(tables: Tables, look: Look, window: Window, chosen: Period | null = null): Spec {
  const ink = INK[look.theme];
  const cpu = tables.rows('timeline').filter((r) => r.recording === window.recording && r.cpu === window.cpu);
  const names = lanes(cpu);
  const states = stateScale(tables.rows('timeline'), look);
  const left = labelRoom(look, names, 11, 0.28);
  const width = room(look) - left - 14;
  const span = window.to - window.from;
  // Of periods that fall onto the same pixel of a lane one is drawn.
  const reached = new Map<string, number>();
  const seen = cpu
    .filter((r) => r.end_ns >= window.from && r.start_ns <= window.to)
    .sort((a, b) => a.start_ns - b.start_ns)
    .filter((r) => {
      const end = Math.floor(((r.end_ns - window.from) / span) * width * 2);
      if (end === reached.get(r.lane)) return false;
      reached.set(r.lane, end);
      return true;
    });
  const bars = seen.map((r, id) => ({
    id,
    lane: r.lane,
    governor: r.governor,
    // Even the shortest idle period is drawn.
    from: Math.max(0, r.start_ns - window.from),
    to: Math.min(span, Math.max(r.end_ns - window.from, r.start_ns - window.from + span / width)),
    label: states.label(r.state_index),
    verdict: r.verdict,
    wake: r.wake,
    why: r.why,
    start_ns: r.start_ns,
    end_ns: r.end_ns,
    length: duration(r.end_ns - r.start_ns),
    start: duration(r.start_ns),
  }));
  const y = {
    field: 'lane',
    type: 'nominal',
    title: null,
    sort: names,
    scale: { domain: names },
    axis: { labelLimit: left - 10, minExtent: left, maxExtent: left, labelColor: ink.text },
  };
  const x = {
    field: 'from',
    type: 'quantitative',
    title: `time from ${precise(window.from, span)}`,
    scale: { domain: [0, span], nice: false },
    axis: {
      labelExpr: NS_LABEL,
      grid: true,
      tickCount: Math.max(3, Math.floor(width / 90)),
      labelFlush: true,
    },
  };
  const tooltip = [
    { field: 'lane', type: 'nominal', title: 'lane' },
    { field: 'label', type: 'nominal', title: 'state' },
    { field: 'length', type: 'nominal', title: 'idle for' },
    { field: 'verdict', type: 'nominal' },
    { field: 'wake', type: 'nominal', title: 'woken by' },
  ];
  const step = names.length > 8 ? 24 : 30;
  const wrong = (side: string, color: string, mark: object) => ({
    data: { values: bars.filter((b) => b.verdict === side) },
    mark: { ...mark, color, clip: true },
    encoding: { y, x, x2: { field: 'to' } },
  });
  return {
    width,
    height: { step },
    layer: [
      {
        data: { values: bars, name: 'periods' },
        mark: {
          type: 'bar',
          height: { band: 0.62 },
          stroke: ink.paper,
          strokeWidth: 0.5,
          clip: true,
          cursor: 'pointer',
        },
        encoding: { y, x, x2: { field: 'to' }, color: states.encoding, tooltip },
      },
      // A wrong state is marked at its lower edge (too deep) or at its upper (too shallow), so that print without colour shows it.
      wrong('too deep', ink.deep, { type: 'bar', height: 3, yOffset: step * 0.4 }),
      wrong('too shallow', ink.shallow, { type: 'bar', height: 3, yOffset: -step * 0.4 }),
      {
        data: {
          values: bars.filter(
            (b) => chosen !== null && b.lane === chosen.lane && b.start_ns === chosen.start_ns,
          ),
        },
        mark: {
          type: 'bar',
          height: { band: 0.8 },
          fillOpacity: 0,
          stroke: ink.text,
          strokeWidth: 2,
          clip: true,
        },
        encoding: { y, x, x2: { field: 'to' } },
      },
    ],
  };
}

function precise(ns: number, span: number): string {
  const digits = Math.min(9, Math.max(0, 2 - Math.floor(Math.log10(Math.max(span, 1) / 1e9))));
  return `${(ns / 1e9).toFixed(digits)} s`;
}

export const timeline: Chart = {
  name: 'timeline',
  title: 'One CPU over time',
  about:
    'The recording above, each governor\u2019s choices below; deeper states have the stronger colour. A line below a period marks a state that was too deep, a line above it one that was too shallow.',
  tables: ['timeline'],
  draw(tables, look): Spec | null {
    const window = firstWindow(tables.rows('timeline'));
    if (!window) return null;
    const spec = drawWindow(tables, look, window);
    return { ...spec, title: partTitle(look, `${window.recording}, CPU ${window.cpu}`, room(look)) };
  },
};
