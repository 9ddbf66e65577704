// SPDX-License-Identifier: GPL-2.0-only
import type { Chart, Row, Spec } from '../chart';
import { distinct, grouped } from '../contract';
import { finite, labelRoom, partTitle, recordingsOf, room } from '../chart';
import { INK } from '../look';
import { signed } from '../text';
import { greatest, least } from '../extremes';

type Change = Row<'changes'>;

export const changes: Chart = {
  name: 'changes',
  title: 'Changes',
  about:
    'Right of zero is more, left of it less. A point with a line is an estimate with its 95 % interval; the shaded band is the margin within which a difference does not matter. A bar is a plain difference.',
  tables: ['changes'],
  draw(tables, look): Spec | null {
    const rows = tables.rows('changes').filter((r) => finite(r.change));
    if (rows.length === 0) return null;
    const ink = INK[look.theme];
    const recordings = recordingsOf(rows);
    const left = labelRoom(
      look,
      rows.map((r) => r.group),
    );
    const width = room(look) - left - 24;
    const color = (r: Change) => {
      const more = (r.change as number) > 0;
      // An interval that reaches zero shows neither.
      const clear = !finite(r.low) || !finite(r.high) || r.low > 0 || r.high < 0;
      if (!r.better || !clear || r.change === 0) return ink.quiet;
      return more === (r.better === 'more') ? ink.shallow : ink.deep;
    };
    const parts = [...grouped(rows, (r) => JSON.stringify([r.recording, r.series])).values()].map((mine) => {
      const { unit, series, recording, better } = mine[0]!;
      const edges = mine.flatMap((r) => [r.change, r.low, r.high]).filter(finite);
      const margin = greatest(mine.map((r) => r.margin).filter(finite), 0);
      const low = least([...edges, -margin], 0);
      const high = greatest([...edges, margin], 0);
      const pad = (high - low) * 0.06 || 1;
      const values = mine.map((r) => ({
        group: r.group,
        change: r.change,
        low: r.low,
        high: r.high,
        zero: 0,
        color: color(r),
        interval: finite(r.low) && finite(r.high) ? `${signed(r.low, unit)} to ${signed(r.high, unit)}` : '',
        text: signed(r.change, unit),
        verdict: r.verdict ?? '',
      }));
      const names = distinct(mine.map((r) => r.group));
      const y = {
        field: 'group',
        type: 'nominal',
        title: null,
        sort: names,
        scale: { domain: names },
        axis: { labelLimit: left - 10, minExtent: left, maxExtent: left, labelColor: ink.text },
      };
      const x = (field: string) => ({
        field,
        type: 'quantitative',
        title: `change [${unit}]`,
        scale: { domain: [low - pad, high + pad], nice: false },
        axis: { tickCount: Math.max(3, Math.floor(width / 80)), grid: true, format: '~r' },
      });
      const shade = { field: 'color', type: 'nominal', scale: null, legend: null };
      const tooltip = [
        { field: 'group', type: 'nominal', title: 'of' },
        { field: 'text', type: 'nominal', title: 'change' },
        { field: 'interval', type: 'nominal', title: '95 % interval' },
        { field: 'verdict', type: 'nominal' },
      ];
      const ranged = values.filter((v) => finite(v.low) && finite(v.high));
      const bare = values.filter((v) => !finite(v.low) || !finite(v.high));
      const arrow = better === 'less' ? ' \u2193' : better === 'more' ? ' \u2191' : '';
      return {
        width,
        height: { step: names.length > 12 ? 18 : 26 },
        title: partTitle(
          look,
          [recordings.title(recording), series].filter((t) => t !== '').join(': ') + arrow,
          width + left,
        ),
        layer: [
          ...(margin > 0
            ? [
                {
                  data: { values: [{ from: -margin, to: margin }] },
                  mark: { type: 'rect', color: ink.faint, opacity: 0.9 },
                  encoding: { x: x('from'), x2: { field: 'to' } },
                },
              ]
            : []),
          {
            data: { values: [{ zero: 0 }] },
            mark: { type: 'rule', color: ink.quiet, strokeWidth: 1 },
            encoding: { x: x('zero') },
          },
          {
            data: { values: bare },
            mark: { type: 'bar', height: { band: 0.55 } },
            encoding: { y, x: x('zero'), x2: { field: 'change' }, color: shade, tooltip },
          },
          {
            data: { values: ranged },
            mark: { type: 'rule', strokeWidth: 2 },
            encoding: { y, x: x('low'), x2: { field: 'high' }, color: shade, tooltip },
          },
          {
            data: { values: ranged },
            mark: { type: 'point', filled: true, size: 60, opacity: 1 },
            encoding: { y, x: x('change'), color: shade, tooltip },
          },
        ],
      };
    });
    return parts.length === 1
      ? parts[0]!
      : { vconcat: parts, spacing: 16, resolve: { scale: { x: 'independent', y: 'independent' } } };
  },
};
