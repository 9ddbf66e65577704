// SPDX-License-Identifier: GPL-2.0-only
import type { Chart, Spec } from '../chart';
import { distinct, grouped } from '../contract';
import { finite, labelRoom, NS_LABEL, partTitle, room } from '../chart';
import { INK, styles } from '../look';
import { number, quantity } from '../text';

function median(values: number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const half = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[half]! : (sorted[half - 1]! + sorted[half]!) / 2;
}

export const points: Chart = {
  name: 'points',
  title: 'Every measured point',
  about:
    'One point is one run. Within a row, later runs stand lower, so that a drift shows as a slope. The bar is the median, the line its 95 % interval where one is known.',
  tables: ['points'],
  draw(tables, look): Spec | null {
    const rows = tables.rows('points').filter((r) => finite(r.y));
    if (rows.length === 0) return null;
    const ink = INK[look.theme];
    const groups = distinct(rows.map((r) => r.group));
    const roles = new Map(tables.governors().map((g) => [g.name, g.role]));
    const style = styles(
      groups.map((name) => ({ name, role: roles.get(name) ?? 'governor' })),
      look.theme,
    );
    const left = labelRoom(look, groups);
    const width = room(look) - left - 24;
    const parts = [...grouped(rows, (r) => r.series)].map(([series, mine]) => {
      const unit = mine[0]!.unit;
      const here = distinct(mine.map((r) => r.group));
      // A point's place within its row: its order in time, between a fifth and four fifths.
      const values = [...grouped(mine, (r) => r.group)].flatMap(([group, of]) => {
        const sorted = [...of].sort((a, b) => (a.x ?? 0) - (b.x ?? 0));
        return sorted.map((r, i) => ({
          group,
          v: r.y,
          place: sorted.length < 2 ? 0.5 : 0.22 + (0.56 * i) / (sorted.length - 1),
          text: quantity(r.y, unit),
          order: r.x === null ? String(i + 1) : number(r.x),
        }));
      });
      const medians = [...grouped(mine, (r) => r.group)].map(([group, of]) => ({
        group,
        v: median(of.map((r) => r.y as number)),
      }));
      const intervals = tables
        .rows('medians')
        .filter((r) => r.series === series && finite(r.low) && finite(r.high))
        .map((r) => ({ group: r.group, low: r.low, high: r.high }));
      const y = {
        field: 'group',
        type: 'nominal',
        title: null,
        sort: here,
        axis: { labelLimit: left - 10, minExtent: left, maxExtent: left, labelColor: ink.text, grid: true },
      };
      const x = {
        field: 'v',
        type: 'quantitative',
        title: unit === '' || unit === 'ns' ? null : `[${unit}]`,
        scale: { zero: false },
        axis: {
          tickCount: Math.max(3, Math.floor(width / 80)),
          grid: true,
          ...(unit === 'ns' ? { labelExpr: NS_LABEL } : { format: '~r' }),
        },
      };
      return {
        width,
        height: 34 * here.length,
        title: partTitle(look, series, width),
        layer: [
          {
            data: { values: intervals },
            mark: { type: 'rule', strokeWidth: 5, opacity: 0.35, color: ink.quiet },
            encoding: { y, x: { ...x, field: 'low' }, x2: { field: 'high' } },
          },
          {
            data: { values: medians },
            mark: { type: 'tick', orient: 'vertical', thickness: 2.5, size: 26, color: ink.quiet },
            encoding: { y, x },
          },
          {
            data: { values },
            mark: {
              type: 'point',
              filled: true,
              size: values.length > 400 ? 14 : 34,
              opacity: values.length > 400 ? 0.5 : 0.8,
            },
            encoding: {
              y,
              x,
              yOffset: { field: 'place', type: 'quantitative', scale: { domain: [0, 1] } },
              color: {
                field: 'group',
                type: 'nominal',
                legend: null,
                scale: { domain: groups, range: groups.map((g) => style.get(g)?.color ?? ink.text) },
              },
              shape: {
                field: 'group',
                type: 'nominal',
                legend: null,
                scale: { domain: groups, range: groups.map((g) => style.get(g)?.shape ?? 'circle') },
              },
              tooltip: [
                { field: 'group', type: 'nominal', title: 'of' },
                { field: 'text', type: 'nominal', title: 'value' },
                { field: 'order', type: 'nominal', title: 'run' },
              ],
            },
          },
        ],
      };
    });
    return parts.length === 1
      ? parts[0]!
      : { vconcat: parts, spacing: 16, resolve: { scale: { x: 'independent', y: 'independent' } } };
  },
};
