// SPDX-License-Identifier: GPL-2.0-only
import type { Chart, Spec } from '../chart';
import { distinct, grouped } from '../contract';
import { finite, labelRoom, partTitle, room } from '../chart';
import { INK } from '../look';
import { signed } from '../text';
import { greatest, least } from '../extremes';

export const published: Chart = {
  name: 'published',
  title: 'Compared with simulation',
  about:
    'Each line is a published change against the baseline: the diamond with the thin line is what was published and its noise, the dot with the thick line our median and 90 % interval. At zero nothing changes. Where no effect was published, a false alarm is one that the simulation shows.',
  tables: ['published'],
  draw(tables, look): Spec | null {
    const ink = INK[look.theme];
    const rows = tables.rows('published').filter((r) => finite(r.published));
    if (rows.length === 0) return null;
    // In the order from right to wrong, each with a shape of its own.
    const LOOKS: Record<string, [string, string]> = {
      right: [ink.shallow, 'circle'],
      'cannot be known': [ink.quiet, 'square'],
      'the model misses the baseline': [ink.text, 'triangle-up'],
      'the model is wrong': [ink.deep, 'cross'],
      'no effect': [ink.quiet, 'triangle-right'],
      'false alarm': [ink.deep, 'triangle-down'],
    };
    const stands = Object.keys(LOOKS).filter((s) => rows.some((r) => r.stands === s));
    const several = distinct(rows.map((r) => r.recording)).length > 1;
    const name = (r: (typeof rows)[number]) => `${r.row}: ${r.column}`;
    const left = labelRoom(look, rows.map(name));
    const width = room(look) - left - 24;
    const groups = [...grouped(rows, (r) => JSON.stringify([r.recording, r.unit])).values()];
    const parts = groups.map((mine, i) => {
      const marks =
        i === groups.length - 1
          ? `; diamond: ${mine[0]!.called}, with its noise or range; bar: simulated, 90 %`
          : '';
      const { recording, unit } = mine[0]!;
      const values = mine.map((r) => {
        const [change, noise] = [r.published as number, r.noise ?? 0];
        return {
          cell: name(r),
          published: change,
          from: change - noise,
          to: change + noise,
          ours: r.ours,
          low: r.low,
          high: r.high,
          zero: 0,
          stands: r.stands,
          published_text: `${signed(change, unit)} \u00b1 ${signed(noise, unit).replace('+', '')}`,
          ours_text: finite(r.ours)
            ? `${signed(r.ours, unit)} (${signed(r.low ?? r.ours, unit)} to ${signed(r.high ?? r.ours, unit)})`
            : 'no number',
        };
      });
      const edges = values.flatMap((v) => [v.from, v.to, v.ours, v.low, v.high]).filter(finite);
      const [low, high] = [least(edges, 0), greatest(edges, 0)];
      const pad = (high - low) * 0.06 || 1;
      const names = distinct(values.map((v) => v.cell));
      const y = {
        field: 'cell',
        type: 'nominal',
        title: null,
        sort: names,
        scale: { domain: names },
        axis: { labelLimit: left - 10, minExtent: left, maxExtent: left, labelColor: ink.text },
      };
      const x = (field: string) => ({
        field,
        type: 'quantitative',
        title: `change against the baseline [${unit}]${marks}`,
        scale: { domain: [low - pad, high + pad], nice: false, clamp: true },
        axis: { tickCount: Math.max(3, Math.floor(width / 80)), grid: true, format: '~r' },
      });
      const legend =
        i > 0
          ? null
          : {
              title: null,
              orient: 'top',
              direction: 'horizontal',
              columns: Math.max(1, Math.floor(room(look) / 160)),
              symbolSize: 70,
              offset: 6,
            };
      const of = (what: 0 | 1) => ({
        field: 'stands',
        type: 'nominal',
        legend,
        scale: { domain: stands, range: stands.map((s) => LOOKS[s]![what]) },
      });
      const tooltip = [
        { field: 'cell', type: 'nominal', title: 'of' },
        { field: 'published_text', type: 'nominal', title: String(mine[0]!.called) },
        { field: 'ours_text', type: 'nominal', title: 'ours' },
        { field: 'stands', type: 'nominal', title: 'it is' },
      ];
      const ranged = values.filter((v) => finite(v.low) && finite(v.high));
      return {
        width,
        height: { step: names.length > 12 ? 20 : 26 },
        title: partTitle(look, several ? recording : '', width + left),
        layer: [
          {
            data: { values: [{ zero: 0 }] },
            mark: { type: 'rule', color: ink.quiet, strokeWidth: 1, strokeDash: [4, 3] },
            encoding: { x: x('zero') },
          },
          {
            data: { values },
            mark: { type: 'rule', strokeWidth: 1, color: ink.text },
            encoding: { y, x: x('from'), x2: { field: 'to' }, tooltip },
          },
          {
            data: { values: ranged },
            mark: { type: 'rule', strokeWidth: 4, opacity: 0.55 },
            encoding: { y, x: x('low'), x2: { field: 'high' }, color: of(0), tooltip },
          },
          {
            data: { values: ranged },
            mark: { type: 'point', filled: true, size: 60, opacity: 1 },
            encoding: { y, x: x('ours'), color: of(0), shape: of(1), tooltip },
          },
          {
            data: { values },
            mark: {
              type: 'point',
              shape: 'diamond',
              size: 80,
              filled: false,
              strokeWidth: 1.75,
              color: ink.text,
            },
            encoding: { y, x: x('published'), tooltip },
          },
        ],
      };
    });
    return parts.length === 1
      ? parts[0]!
      : { vconcat: parts, spacing: 16, resolve: { scale: { x: 'independent', y: 'independent' } } };
  },
};
