// SPDX-License-Identifier: GPL-2.0-only
import type { Chart, Spec } from '../chart';
import { distinct, grouped } from '../contract';
import { countFormat, finite, NS_LABEL, partTitle, room } from '../chart';
import { styles } from '../look';
import { duration, quantity } from '../text';
import { greatest } from '../extremes';

export const response: Chart = {
  name: 'response',
  title: 'Responses to a step and to a ramp',
  about:
    'A step is a load that runs 300 ms without a break; a ramp one that runs a growing share of each 20 ms; then the CPU is idle. Utilisation, 0 to 1024, is that of a CPU at full speed; MHz is the clock of the fastest CPU with the same work, which takes longer at lower clocks, simulated under the first idle governor; while nothing runs, nobody asks for another clock.',
  tables: ['response'],
  draw(tables, look): Spec | null {
    const rows = tables.rows('response').filter((r) => finite(r.value));
    if (rows.length === 0) return null;
    const subjects = distinct(rows.map((r) => r.subject));
    const style = [
      ...styles(
        subjects.map((name) => ({ name, role: 'governor' as const })),
        look.theme,
      ).values(),
    ];
    const widest = Math.max(...subjects.map((s) => look.measure(s, 11)));
    const legend =
      subjects.length < 2
        ? null
        : {
            title: null,
            orient: 'top',
            direction: 'horizontal',
            symbolType: 'stroke',
            symbolSize: 260,
            labelLimit: 160,
            columns: Math.max(1, Math.floor(room(look) / (Math.min(160, widest) + 44))),
            offset: 6,
          };
    const groups = [...grouped(rows, (r) => JSON.stringify([r.kind, r.unit])).values()];
    const columns = look.width >= 640 && groups.length > 1 ? 2 : 1;
    const width = Math.floor((room(look) - (columns - 1) * 20) / columns) - 66;
    const parts = groups.map((group, part) => {
      const values = group.map((r) => ({
        subject: r.subject,
        t: r.time_ns,
        v: r.value,
        time: duration(r.time_ns),
        text: quantity(r.value, r.unit),
      }));
      const shared = { legend: part === 0 ? legend : null };
      const x = {
        field: 't',
        type: 'quantitative',
        title: 'time since the load changed',
        scale: { nice: false },
        axis: { labelExpr: NS_LABEL, tickCount: Math.floor(width / 80), labelFlush: true },
      };
      const y = {
        field: 'v',
        type: 'quantitative',
        title: group[0]!.unit === '' ? null : group[0]!.unit,
        scale: { zero: true },
        axis: {
          tickCount: 5,
          format: countFormat(greatest(group.map((r) => r.value as number))),
          minExtent: 46,
          maxExtent: 46,
        },
      };
      return {
        width,
        height: 170,
        title: partTitle(
          look,
          `${group[0]!.kind}: ${group[0]!.unit === '' ? 'utilisation' : `clock [${group[0]!.unit}]`}`,
          width,
        ),
        layer: [
          {
            data: { values },
            mark: { type: 'line', strokeWidth: 1.75 },
            encoding: {
              x,
              y,
              color: {
                field: 'subject',
                type: 'nominal',
                scale: { domain: subjects, range: style.map((s) => s.color) },
                ...shared,
              },
              strokeDash: {
                field: 'subject',
                type: 'nominal',
                scale: { domain: subjects, range: style.map((s) => s.dash) },
                ...shared,
              },
            },
          },
          {
            data: { values },
            mark: { type: 'point', size: 60, opacity: 0 },
            encoding: {
              x,
              y,
              tooltip: [
                { field: 'subject', type: 'nominal' },
                { field: 'time', type: 'nominal' },
                { field: 'text', type: 'nominal', title: 'value' },
              ],
            },
          },
        ],
      };
    });
    return parts.length === 1
      ? parts[0]!
      : {
          concat: parts,
          columns,
          spacing: { row: 18, column: 20 },
          resolve: { scale: { x: 'independent', y: 'independent' } },
        };
  },
};
