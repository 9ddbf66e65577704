// SPDX-License-Identifier: GPL-2.0-only
import type { Chart, Spec } from '../chart';
import { distinct, grouped } from '../contract';
import { countFormat, decades, NS_LABEL, partTitle, recordingsOf, room } from '../chart';
import { INK } from '../look';
import { duration, number } from '../text';
import { greatest, least } from '../extremes';

export const periods: Chart = {
  name: 'periods',
  title: 'Lengths of idle periods, with target residencies',
  about:
    'How many idle periods were this long in the recording. A state pays off in the periods to the right of its line.',
  tables: ['periods'],
  draw(tables, look): Spec | null {
    const rows = tables.rows('periods').filter((r) => r.to_ns > 0 && r.count > 0);
    if (rows.length === 0) return null;
    const ink = INK[look.theme];
    const recordings = recordingsOf(rows);
    const clusters = distinct(rows.map((r) => r.cluster));
    const targets = tables.rows('targets');
    const width = room(look) - 62;
    // A logarithm has no zero: the first bin begins a little below its end.
    const low = least(
      rows.map((r) => (r.from_ns > 0 ? r.from_ns : r.to_ns / 2)),
      least(targets.filter((t) => t.target_residency_ns > 0).map((t) => t.target_residency_ns * 0.8)),
    );
    const high = greatest(
      rows.map((r) => r.to_ns),
      greatest(targets.map((t) => t.target_residency_ns * 1.2)),
    );
    const domain = [low, high];
    const axis = { labelExpr: NS_LABEL, values: decades(low, high, width) };
    const pixel = (ns: number) => (Math.log(ns / low) / Math.log(high / low)) * width;
    const groups = [...grouped(rows, (r) => JSON.stringify([r.recording, r.cluster])).values()];
    const parts = groups.map((group, part) => {
      const name = [recordings.title(group[0]!.recording), clusters.length > 1 ? group[0]!.cluster : '']
        .filter((t) => t !== '')
        .join(', ');
      const bars = group.map((r) => ({
        from: r.from_ns > 0 ? r.from_ns : r.to_ns / 2,
        to: r.to_ns,
        count: r.count,
        zero: 0,
        range: `${duration(r.from_ns)} to ${duration(r.to_ns)}`,
        text: number(r.count),
      }));
      // Labels side by side where they fit, else one line up.
      const ends: number[] = [];
      const lines = targets
        .filter((t) => t.cluster === group[0]!.cluster && t.target_residency_ns > 0)
        .sort((a, b) => a.target_residency_ns - b.target_residency_ns)
        .map((t) => {
          const text = `${t.state} ${duration(t.target_residency_ns)}`;
          const w = look.measure(text, 10.5) + 8;
          const at = pixel(t.target_residency_ns);
          const turned = at + w > width;
          const start = turned ? at - w : at;
          let row = 0;
          while (row < ends.length && ends[row]! > start) row += 1;
          ends[row] = start + w;
          return {
            at: t.target_residency_ns,
            text,
            row,
            align: turned ? 'right' : 'left',
            dx: turned ? -4 : 4,
          };
        });
      const rowsOfLabels = Math.max(1, ends.length);
      const x = {
        field: 'from',
        type: 'quantitative',
        title: part === groups.length - 1 ? 'length of the idle period' : null,
        scale: { type: 'log', domain, nice: false },
        axis,
      };
      const labels = lines.map((line) => ({
        data: { values: [line] },
        mark: {
          type: 'text',
          align: line.align,
          dx: line.dx,
          y: -6 - 13 * line.row,
          baseline: 'middle',
          fontSize: 10.5,
          color: ink.deep,
        },
        encoding: { x: { ...x, field: 'at' }, text: { field: 'text', type: 'nominal' } },
      }));
      const rules = lines.map((line) => ({
        data: { values: [line] },
        mark: {
          type: 'rule',
          color: ink.deep,
          strokeWidth: 1.25,
          strokeDash: [4, 3],
          y: -12 - 13 * line.row,
          y2: 'height',
        },
        encoding: { x: { ...x, field: 'at' } },
      }));
      return {
        width,
        height: groups.length > 2 ? 110 : 150,
        headroom: 10 + (lines.length > 0 ? 14 * rowsOfLabels : 0),
        title: partTitle(look, name, width) && {
          ...partTitle(look, name, width),
          offset: 8 + (lines.length > 0 ? 14 * rowsOfLabels : 0),
        },
        layer: [
          {
            data: { values: bars },
            mark: { type: 'rect', color: ink.accent, opacity: 0.75, stroke: ink.paper, strokeWidth: 0.5 },
            encoding: {
              x,
              x2: { field: 'to' },
              y: {
                field: 'count',
                type: 'quantitative',
                title: 'idle periods',
                scale: { zero: true },
                axis: {
                  tickCount: 4,
                  format: countFormat(greatest(group.map((r) => r.count))),
                  minExtent: 44,
                  maxExtent: 44,
                },
              },
              y2: { field: 'zero' },
              tooltip: [
                { field: 'range', type: 'nominal', title: 'length' },
                { field: 'text', type: 'nominal', title: 'idle periods' },
              ],
            },
          },
          ...rules,
          ...labels,
        ],
      };
    });
    return parts.length === 1
      ? parts[0]!
      : {
          vconcat: parts.map(({ headroom: _, ...part }) => part),
          spacing: 16,
          resolve: { scale: { y: 'independent' } },
        };
  },
};
