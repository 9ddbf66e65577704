// SPDX-License-Identifier: GPL-2.0-only
import type { Chart, Spec } from '../chart';
import { finite, labelRoom, partTitle, recordingsOf, room } from '../chart';
import { INK } from '../look';
import { quantity, UNKNOWN } from '../text';
import { greatest } from '../extremes';

export const misses: Chart = {
  name: 'misses',
  title: 'Idle periods entered too deep and too shallow',
  about:
    'Share of idle periods for which another state was right. Too deep costs latency and the transition; too shallow costs energy. Shorter is better.',
  tables: ['misses'],
  draw(tables, look): Spec | null {
    const rows = tables.rows('misses');
    if (rows.length === 0) return null;
    const ink = INK[look.theme];
    const left = labelRoom(
      look,
      rows.map((r) => r.governor),
    );
    const width = room(look) - left - 12;
    const most = greatest(rows.flatMap((r) => [r.too_deep_pct, r.too_shallow_pct]).filter(finite), 1);
    // Room for the number at the end of the longest bar.
    const edge = most * (1 + 120 / Math.max(width - 120, 60));
    const recordings = recordingsOf(rows);
    const parts = recordings.names.map((name, part) => {
      const mine = rows.filter((r) => r.recording === name);
      const bars = mine.flatMap((r) => [
        {
          governor: r.governor,
          side: 'too deep',
          at: -(r.too_deep_pct ?? 0),
          known: finite(r.too_deep_pct),
          text: finite(r.too_deep_pct) ? quantity(r.too_deep_pct, '%') : UNKNOWN,
        },
        {
          governor: r.governor,
          side: 'too shallow',
          at: r.too_shallow_pct ?? 0,
          known: finite(r.too_shallow_pct),
          text: finite(r.too_shallow_pct) ? quantity(r.too_shallow_pct, '%') : UNKNOWN,
        },
      ]);
      const y = {
        field: 'governor',
        type: 'nominal',
        title: null,
        sort: mine.map((r) => r.governor),
        axis: { labelLimit: left - 10, minExtent: left, maxExtent: left, labelColor: ink.text },
      };
      const x = {
        field: 'at',
        type: 'quantitative',
        title: null,
        scale: { domain: [-edge, edge], nice: false },
        axis:
          part === recordings.names.length - 1
            ? {
                labelExpr: "format(abs(datum.value), '~g') + ' %'",
                tickCount: Math.max(3, Math.floor(width / 90)),
                grid: true,
              }
            : null,
      };
      const heads = [
        { at: 0, text: 'too deep', side: 'too deep' },
        { at: 0, text: 'too shallow', side: 'too shallow' },
      ];
      const value = (side: string, align: string, dx: number) => ({
        data: { values: bars.filter((b) => b.side === side) },
        mark: { type: 'text', align, dx, baseline: 'middle', color: ink.text },
        encoding: { y, x, text: { field: 'text', type: 'nominal' } },
      });
      const head = (i: number, align: string, dx: number) => ({
        data: { values: [heads[i]] },
        mark: {
          type: 'text',
          align,
          dx,
          y: -8,
          baseline: 'middle',
          fontWeight: 'bold',
          color: i === 0 ? ink.deep : ink.shallow,
        },
        encoding: { x, text: { field: 'text', type: 'nominal' } },
      });
      return {
        width,
        height: { step: 22 },
        headroom: 24,
        title: partTitle(look, recordings.title(name), width) && {
          ...partTitle(look, recordings.title(name), width),
          offset: 22,
        },
        layer: [
          {
            data: { values: bars },
            mark: { type: 'bar', height: { band: 0.62 } },
            encoding: {
              y,
              x,
              color: {
                field: 'side',
                type: 'nominal',
                legend: null,
                scale: { domain: ['too deep', 'too shallow'], range: [ink.deep, ink.shallow] },
              },
              tooltip: [
                { field: 'governor', type: 'nominal' },
                { field: 'side', type: 'nominal', title: 'entered' },
                { field: 'text', type: 'nominal', title: 'share' },
              ],
            },
          },
          { data: { values: [{ at: 0 }] }, mark: { type: 'rule', color: ink.quiet }, encoding: { x } },
          value('too deep', 'right', -5),
          value('too shallow', 'left', 5),
          head(0, 'right', -6),
          head(1, 'left', 6),
        ],
      };
    });
    return parts.length === 1
      ? parts[0]!
      : { vconcat: parts.map(({ headroom: _, ...part }) => part), spacing: 22 };
  },
};
