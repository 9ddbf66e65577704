// SPDX-License-Identifier: GPL-2.0-only
import type { Chart, Spec } from '../chart';
import { distinct } from '../contract';
import { decades, finite, room } from '../chart';
import { INK } from '../look';
import { number } from '../text';
import { greatest, least } from '../extremes';

export const published: Chart = {
  name: 'published',
  title: 'Published and ours',
  about:
    'One point is one cell of a published table; on the line ours is equal to it. Both axes are logarithmic, whatever the unit. A horizontal line is a published range, a vertical one our 95 % interval.',
  tables: ['published'],
  draw(tables, look): Spec | null {
    const ink = INK[look.theme];
    const rows = tables
      .rows('published')
      .filter(
        (r) =>
          finite(r.published_from) &&
          finite(r.published_to) &&
          finite(r.ours) &&
          r.published_from > 0 &&
          r.ours > 0,
      );
    if (rows.length === 0) return null;
    const values = rows.map((r) => {
      const [from, to, ours] = [r.published_from as number, r.published_to as number, r.ours as number];
      const half = r.half_width ?? 0;
      return {
        experiment: r.recording,
        cell: `${r.row}, ${r.column}`,
        grade: r.grade,
        middle: (from + to) / 2,
        from,
        to,
        ours,
        low: Math.max(ours - half, ours / 10),
        high: ours + half,
        published: `${number(from)}${from === to ? '' : ` to ${number(to)}`} ${r.unit}`,
        text: `${number(ours)}${half > 0 ? ` \u00b1 ${number(half)}` : ''} ${r.unit}`,
      };
    });
    const edges = values.flatMap((v) => [v.from, v.to, v.ours, v.low, v.high]);
    const [low, high] = [least(edges) * 0.8, greatest(edges) * 1.25];
    const side = Math.min(room(look) - 76, 520);
    const domain = [low, high];
    const axis = (title: string, extra: object) => ({
      title,
      grid: true,
      values: decades(low, high, side),
      format: '~g',
      ...extra,
    });
    const scale = { type: 'log', domain, nice: false };
    const x = (field: string) => ({
      field,
      type: 'quantitative',
      scale,
      axis: axis('published', { labelFlush: true }),
    });
    const y = (field: string) => ({ field, type: 'quantitative', scale, axis: axis('ours', {}) });
    // In the order from met to missed, each with a shape of its own.
    const LOOKS: Record<string, [string, string]> = {
      matches: [ink.shallow, 'circle'],
      'same order and sign': [ink.governors[4] ?? ink.text, 'triangle-up'],
      differs: [ink.deep, 'cross'],
      fit: [ink.quiet, 'diamond'],
      baseline: [ink.text, 'square'],
    };
    const grades = distinct(values.map((v) => v.grade)).sort(
      (a, b) => Object.keys(LOOKS).indexOf(a) - Object.keys(LOOKS).indexOf(b),
    );
    const look_of = (grade: string) => LOOKS[grade] ?? [ink.quiet, 'square'];
    const legend = {
      title: null,
      orient: 'top',
      direction: 'horizontal',
      columns: Math.max(1, Math.floor(room(look) / 160)),
      symbolSize: 70,
      offset: 6,
    };
    const color = {
      field: 'grade',
      type: 'nominal',
      legend,
      scale: { domain: grades, range: grades.map((g) => look_of(g)[0]) },
    };
    return {
      width: side,
      height: side,
      layer: [
        {
          data: { values: [{ a: low, b: high }] },
          mark: { type: 'rule', color: ink.quiet, strokeDash: [4, 3] },
          encoding: { x: x('a'), x2: { field: 'b' }, y: y('a'), y2: { field: 'b' } },
        },
        {
          data: { values: values.filter((v) => v.from !== v.to) },
          mark: { type: 'rule', strokeWidth: 1.25 },
          encoding: { x: x('from'), x2: { field: 'to' }, y: y('ours'), color },
        },
        {
          data: { values: values.filter((v) => v.high > v.low) },
          mark: { type: 'rule', strokeWidth: 1.25 },
          encoding: { x: x('middle'), y: y('low'), y2: { field: 'high' }, color },
        },
        {
          data: { values },
          mark: { type: 'point', filled: true, size: 52, opacity: 0.85 },
          encoding: {
            x: x('middle'),
            y: y('ours'),
            color,
            shape: {
              field: 'grade',
              type: 'nominal',
              legend,
              scale: { domain: grades, range: grades.map((g) => look_of(g)[1]) },
            },
            tooltip: [
              { field: 'experiment', type: 'nominal' },
              { field: 'cell', type: 'nominal' },
              { field: 'published', type: 'nominal' },
              { field: 'text', type: 'nominal', title: 'ours' },
              { field: 'grade', type: 'nominal' },
            ],
          },
        },
      ],
    };
  },
};
