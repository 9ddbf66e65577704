// SPDX-License-Identifier: GPL-2.0-only
import type { Chart, Spec } from '../chart';
import { room } from '../chart';
import { INK } from '../look';
import { axisTitle, changed, objectives, settings as read } from '../settings';

export const settings: Chart = {
  name: 'settings',
  title: 'The front of all settings',
  about:
    'A point is a setting, as a change against the baseline, which is the cross. Down and to the left is better. On the line are the settings of the front: no other is as good in all measures of the front and better in one. Where there are more than two such measures, the picture shows the first two.',
  tables: ['swept_settings'],
  draw(tables, look): Spec | null {
    const [first, second] = objectives(tables);
    if (!first || !second) return null;
    const ink = INK[look.theme];
    const values = read(tables).flatMap((s) => {
      const x = s.changes.get(first.measure);
      const y = s.changes.get(second.measure);
      if (x === undefined || y === undefined) return [];
      const kind = s.isBaseline ? 'baseline' : s.onFront ? 'front' : 'other';
      return [{ name: s.name, x, y, kind, xt: changed(x, first.unit), yt: changed(y, second.unit) }];
    });
    if (values.length === 0) return null;
    const axis = { grid: true, tickCount: 6, format: '~r' };
    const encoding = {
      x: {
        field: 'x',
        type: 'quantitative',
        title: axisTitle(first),
        scale: { zero: false },
        axis,
      },
      y: {
        field: 'y',
        type: 'quantitative',
        title: axisTitle(second),
        scale: { zero: false },
        axis: { ...axis, minExtent: 44, maxExtent: 44 },
      },
      tooltip: [
        { field: 'name', type: 'nominal', title: 'setting' },
        { field: 'xt', type: 'nominal', title: first.label },
        { field: 'yt', type: 'nominal', title: second.label },
      ],
    };
    const of = (kind: string) => ({ values: values.filter((v) => v.kind === kind) });
    const front = values.filter((v) => v.kind === 'front');
    const dots = values.length > 400 ? 16 : 36;
    return {
      width: room(look) - 70,
      height: 300,
      layer: [
        {
          data: of('other'),
          mark: { type: 'point', filled: true, size: dots, opacity: 0.45, color: ink.quiet },
          encoding,
        },
        {
          data: { values: front },
          mark: { type: 'line', color: ink.accent, strokeWidth: 1.25, strokeDash: [5, 3] },
          encoding: { x: encoding.x, y: encoding.y, order: { field: 'x', type: 'quantitative' } },
        },
        {
          data: { values: front },
          mark: { type: 'point', filled: true, size: 64, opacity: 1, color: ink.accent },
          encoding,
        },
        {
          data: of('baseline'),
          mark: { type: 'point', shape: 'cross', filled: true, size: 90, opacity: 1, color: ink.text },
          encoding,
        },
      ],
    };
  },
};
