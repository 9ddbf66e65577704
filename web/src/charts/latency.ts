// SPDX-License-Identifier: GPL-2.0-only
import type { Chart, Spec } from '../chart';
import { grouped } from '../contract';
import { decades, governorScales, NS_LABEL, partTitle, recordingsOf, room } from '../chart';
import { duration } from '../text';
import { greatest, least } from '../extremes';

export const latency: Chart = {
  name: 'latency',
  title: 'Distribution of wakeup latency',
  about: 'For each latency, the share of wakeups that took no longer. Farther up and to the left is better.',
  tables: ['latency'],
  draw(tables, look): Spec | null {
    const rows = tables.rows('latency').filter((r) => r.latency_ns >= 0);
    if (rows.length === 0) return null;
    const recordings = recordingsOf(rows);
    const width = room(look) - 64;
    // Latencies of zero stand at the left edge of the logarithmic axis.
    const positive = rows.map((r) => r.latency_ns).filter((ns) => ns > 0);
    const low = (positive.length > 0 ? least(positive) : 1000) / 1.5;
    const high =
      greatest(
        rows.map((r) => r.latency_ns),
        low * 10,
      ) * 1.15;
    const parts = recordings.names.map((name, part) => {
      const mine = rows.filter((r) => r.recording === name);
      const values = [...grouped(mine, (r) => r.governor)].flatMap(([governor, group]) => {
        const sorted = [...group].sort((a, b) => a.latency_ns - b.latency_ns || a.share - b.share);
        const steps = sorted.map((r) => ({
          governor,
          x: Math.max(low, r.latency_ns),
          y: r.share,
          latency: duration(r.latency_ns),
          share: `${(r.share * 100).toFixed(1)} %`,
        }));
        const last = steps.at(-1)!;
        return [
          { ...steps[0]!, x: low, y: steps[0]!.x > low ? 0 : steps[0]!.y },
          { ...steps[0]!, y: steps[0]!.x > low ? 0 : steps[0]!.y },
          ...steps,
          { ...last, x: high },
        ];
      });
      const scales = governorScales(
        tables,
        rows.map((r) => r.governor),
        look,
        'line',
      );
      const first = part === 0;
      const x = {
        field: 'x',
        type: 'quantitative',
        title: part === recordings.names.length - 1 ? 'wakeup latency' : null,
        scale: { type: 'log', domain: [low, high], nice: false },
        axis: { grid: true, labelExpr: NS_LABEL, values: decades(low, high, width) },
      };
      const y = {
        field: 'y',
        type: 'quantitative',
        title: 'share of wakeups',
        scale: { domain: [0, 1], nice: false },
        axis: { format: '.0%', tickCount: 5, minExtent: 44, maxExtent: 44 },
      };
      const legend = first ? {} : { legend: null };
      return {
        width,
        height: recordings.names.length > 2 ? 150 : 220,
        title: partTitle(look, recordings.title(name), width),
        layer: [
          {
            data: { values },
            mark: { type: 'line', interpolate: 'step-after', strokeWidth: 1.75, clip: true },
            encoding: {
              x,
              y,
              color: { ...scales.color, ...legend },
              strokeDash: { ...scales.dash, ...legend },
              order: { field: 'x', type: 'quantitative' },
            },
          },
          {
            data: { values },
            mark: { type: 'point', size: 60, opacity: 0, clip: true },
            encoding: {
              x,
              y,
              tooltip: [
                { field: 'governor', type: 'nominal' },
                { field: 'latency', type: 'nominal', title: 'latency' },
                { field: 'share', type: 'nominal', title: 'wakeups no slower' },
              ],
            },
          },
        ],
        resolve: { scale: { color: 'independent', strokeDash: 'independent' } },
      };
    });
    return parts.length === 1 ? parts[0]! : { vconcat: parts, spacing: 16 };
  },
};
