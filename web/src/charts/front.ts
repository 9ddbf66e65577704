// SPDX-License-Identifier: GPL-2.0-only
import type { Chart, Row, Spec } from '../chart';
import { decades, finite, governorScales, NS_LABEL, partTitle, recordingsOf, room } from '../chart';
import { INK, type Look } from '../look';
import { duration, quantity } from '../text';
import type { Tables } from '../contract';

interface Point {
  governor: string;
  role: string;
  x: number;
  y: number;
  name: string;
  energy: string;
  latency: string;
}

interface Scale {
  log: boolean;
  domain: [number, number];
  pixels(value: number, size: number): number;
  value(pixels: number, size: number): number;
}

/** The least of a value that an axis covers. */
const NEARLY_SAME = 0.02;

function scale(values: number[], may_log: boolean): Scale {
  const low = Math.min(...values);
  const high = Math.max(...values);
  const log = may_log && low > 0 && high / low > 20;
  const f = log ? Math.log10 : (v: number) => v;
  const back = log ? (v: number) => 10 ** v : (v: number) => v;
  let span = f(high) - f(low);
  if (!(span > 0)) span = log ? 1 : Math.abs(high) || 1;
  // What is nearly the same stands nearly together.
  const least = log ? 0 : NEARLY_SAME * Math.abs(high);
  const beyond = Math.max(0.12 * span, (least - span) / 2);
  let from = f(low) - beyond;
  const to = f(high) + beyond;
  // Below zero is nothing that energy or latency could be.
  if (!log && low >= 0 && from < 0) from = 0;
  return {
    log,
    domain: [back(from), back(to)],
    pixels: (value, size) => ((f(value) - from) / (to - from)) * size,
    value: (pixels, size) => back(from + (pixels / size) * (to - from)),
  };
}

interface Box {
  left: number;
  top: number;
  right: number;
  bottom: number;
}
const overlap = (a: Box, b: Box) =>
  a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;

/** Names next to their points, without overlaps: in one of eight places around each, or farther out with a leader. */
function placed(
  points: Point[],
  steps: { x: number; y: number }[],
  x: Scale,
  y: Scale,
  width: number,
  height: number,
  look: Look,
) {
  const at = points.map((p) => ({ x: x.pixels(p.x, width), y: height - y.pixels(p.y, height) }));
  const taken: Box[] = at.map((p) => ({ left: p.x - 6, right: p.x + 6, top: p.y - 6, bottom: p.y + 6 }));
  // The front's own line, a horizontal and a vertical part at a time.
  const corners = steps.map((s) => ({ x: x.pixels(s.x, width), y: height - y.pixels(s.y, height) }));
  const lines = corners.slice(1).flatMap((to, i): Box[] => {
    const from = corners[i]!;
    return [
      { left: from.x, right: to.x, top: from.y - 1, bottom: from.y + 1 },
      { left: to.x - 1, right: to.x + 1, top: Math.min(from.y, to.y), bottom: Math.max(from.y, to.y) },
    ];
  });
  const out: Record<string, unknown>[] = [];
  points.forEach((p, i) => {
    const from = at[i]!;
    const w = look.measure(p.name, 11) + 2;
    const h = 13;
    search: for (const distance of [10, 16, 24, 36, 50, 66])
      for (const [dx, dy] of [
        [1, 0],
        [-1, 0],
        [0, -1],
        [0, 1],
        [0.8, -0.8],
        [0.8, 0.8],
        [-0.8, -0.8],
        [-0.8, 0.8],
      ] as const) {
        const cx = from.x + dx * distance + (dx > 0 ? w / 2 : dx < 0 ? -w / 2 : 0);
        const cy = from.y + dy * (distance + 2);
        const box = { left: cx - w / 2, right: cx + w / 2, top: cy - h / 2, bottom: cy + h / 2 };
        if (box.left < 0 || box.right > width || box.top < 0 || box.bottom > height) continue;
        if (taken.some((t, k) => k !== i && overlap(t, box)) || lines.some((l) => overlap(l, box))) continue;
        taken.push(box);
        out.push({
          name: p.name,
          governor: p.governor,
          lx: x.value(cx, width),
          ly: y.value(height - cy, height),
          ...(distance > 16
            ? {
                px: p.x,
                py: p.y,
                ex: x.value(cx - (dx * w) / 2, width),
                ey: y.value(height - (cy - dy * 4), height),
              }
            : {}),
        });
        break search;
      }
  });
  return out;
}

/** The points that no other beats in both, by energy. */
export function paretoFront<T extends { x: number; y: number }>(points: T[]): T[] {
  const sorted = [...points].sort((a, b) => a.x - b.x || a.y - b.y);
  const out: T[] = [];
  for (const p of sorted) if (out.length === 0 || p.y < out.at(-1)!.y) out.push(p);
  return out;
}

function cell(
  points: Point[],
  width: number,
  height: number,
  tables: Tables,
  look: Look,
  yTitle: string,
  unit: string,
  title: string,
): Spec {
  const ink = INK[look.theme];
  const x = scale(
    points.map((p) => p.x),
    false,
  );
  const y = scale(
    points.map((p) => p.y),
    true,
  );
  const scales = governorScales(
    tables,
    points.map((p) => p.governor),
    look,
    'none',
  );
  const front = paretoFront(points.filter((p) => p.role !== 'bound'));
  // The front goes on to the edges: to the top above its best energy, to the right of its best latency.
  const first = front[0];
  const last = front.at(-1);
  const steps =
    first && last
      ? [
          { x: first.x, y: y.domain[1] },
          ...front.map((p) => ({ x: p.x, y: p.y })),
          { x: x.domain[1], y: last.y },
        ]
      : [];
  const labels = placed(points, steps, x, y, width, height, look);
  const hollow = points.filter((p) => p.role === 'bound');
  const full = points.filter((p) => p.role !== 'bound');
  const xEnc = {
    field: 'x',
    type: 'quantitative',
    title: `idle energy${unit === '' ? '' : ` [${unit}]`} (less is better)`,
    scale: { domain: x.domain, nice: false, zero: false },
    axis: { grid: true, tickCount: Math.max(3, Math.floor(width / 80)), format: '~r' },
  };
  const yEnc = {
    field: 'y',
    type: 'quantitative',
    title: `${yTitle} (less is better)`,
    scale: { domain: y.domain, nice: false, zero: false, type: y.log ? 'log' : 'linear' },
    axis: {
      grid: true,
      labelExpr: NS_LABEL,
      minExtent: 58,
      maxExtent: 58,
      ...(y.log ? { values: decades(y.domain[0], y.domain[1], height * 1.4) } : { tickCount: 5 }),
    },
  };
  const tooltip = [
    { field: 'name', type: 'nominal', title: 'governor' },
    { field: 'energy', type: 'nominal', title: 'idle energy' },
    { field: 'latency', type: 'nominal', title: yTitle },
  ];
  const color = { ...scales.color, legend: null };
  const shape = { ...scales.shape, legend: null };
  return {
    width,
    height,
    title: partTitle(look, title, width),
    layer: [
      {
        data: { values: steps },
        mark: {
          type: 'line',
          interpolate: 'step-after',
          color: ink.quiet,
          strokeWidth: 1.25,
          strokeDash: [5, 3],
          clip: true,
        },
        encoding: { x: xEnc, y: yEnc, order: { field: 'x', type: 'quantitative' } },
      },
      {
        data: { values: labels.filter((l) => 'px' in l) },
        mark: { type: 'rule', strokeWidth: 0.75, color: ink.quiet },
        encoding: {
          x: { field: 'px', type: 'quantitative' },
          y: { field: 'py', type: 'quantitative' },
          x2: { field: 'ex' },
          y2: { field: 'ey' },
        },
      },
      {
        data: { values: full },
        mark: { type: 'point', filled: true, size: 75, opacity: 1 },
        encoding: { x: xEnc, y: yEnc, color, shape, tooltip },
      },
      {
        data: { values: hollow },
        mark: { type: 'point', filled: true, fill: ink.paper, strokeWidth: 1.75, size: 85, opacity: 1 },
        encoding: { x: xEnc, y: yEnc, stroke: { ...color }, shape, tooltip },
      },
      {
        data: { values: labels },
        mark: { type: 'text', baseline: 'middle', align: 'center', fontSize: 11, color: ink.text },
        encoding: {
          x: { field: 'lx', type: 'quantitative' },
          y: { field: 'ly', type: 'quantitative' },
          text: { field: 'name', type: 'nominal' },
        },
      },
    ],
  };
}

function drawn(which: 'latency_mean_ns' | 'latency_p99_ns', yTitle: string) {
  return (tables: Tables, look: Look): Spec | null => {
    const rows = tables.rows('front').filter((r: Row<'front'>) => finite(r.energy) && finite(r[which]));
    if (rows.length === 0) return null;
    const { names, title } = recordingsOf(rows);
    const columns = names.length > 1 && look.width >= 640 ? 2 : 1;
    const width = Math.floor((room(look) - (columns - 1) * 24) / columns) - 78;
    const height = columns === 1 ? Math.max(220, Math.min(340, Math.round(width * 0.5))) : 230;
    const crowded =
      Math.max(...names.map((name) => rows.filter((r) => r.recording === name).length)) > 10 ? 1.5 : 1;
    const cells = names.map((name) => {
      const points = rows
        .filter((r) => r.recording === name)
        .map((r) => ({
          governor: r.governor,
          role: r.role,
          x: r.energy as number,
          y: r[which] as number,
          name:
            r.role === 'bound'
              ? `${r.governor} (bound)`
              : r.role === 'baseline'
                ? `${r.governor} (baseline)`
                : r.governor,
          energy: quantity(r.energy, r.energy_unit),
          latency: duration(r[which]),
        }));
      return cell(
        points,
        width,
        Math.round(height * crowded),
        tables,
        look,
        yTitle,
        rows[0]!.energy_unit,
        title(name),
      );
    });
    return cells.length === 1 ? cells[0]! : { concat: cells, columns, spacing: { row: 18, column: 24 } };
  };
}

export const front: Chart = {
  name: 'front',
  title: 'Energy against mean wakeup latency',
  about:
    'Down and to the left is better. Dashed: the Pareto front; no governor on it is beaten in both. A hollow diamond is a bound: it knows the future.',
  tables: ['front'],
  draw: drawn('latency_mean_ns', 'mean wakeup latency'),
};

export const frontP99: Chart = {
  name: 'front-p99',
  title: 'Energy against the 99th percentile of wakeup latency',
  about:
    'One wakeup in a hundred takes longer than this latency. Down and to the left is better. Dashed: the Pareto front. A hollow diamond is a bound: it knows the future.',
  tables: ['front'],
  draw: drawn('latency_p99_ns', 'wakeup latency, p99'),
};
