// SPDX-License-Identifier: GPL-2.0-only
import type { Chart, Spec } from '../chart';
import { partTitle, room } from '../chart';
import { distinct, grouped } from '../contract';
import { fitted, INK } from '../look';
import { axisTitle, changed, objectives, settings, varied } from '../settings';

export const parameters: Chart = {
  name: 'parameters',
  title: 'What each parameter does',
  about:
    'A point is a setting, the line the mean of all settings with this value. Where the line is level the parameter hardly matters; where points of one value lie far apart the other parameters do.',
  tables: ['setting_values'],
  draw(tables, look): Spec | null {
    const ink = INK[look.theme];
    const goals = objectives(tables);
    const columns = look.width >= 640 && goals.length > 1 ? 2 : 1;
    const width = Math.floor((room(look) - (columns - 1) * 20) / columns) - 54;
    const parts: Spec[] = [];
    const all = settings(tables);
    const governors = distinct(all.map((s) => s.governor));
    for (const [governor, own] of grouped(all, (s) => s.governor)) {
      for (const parameter of varied(own.filter((s) => !s.isBaseline))) {
        for (const goal of goals.slice(0, 2)) {
          const values = own.flatMap((s) => {
            const at = s.values.get(parameter);
            const y = s.changes.get(goal.measure);
            if (at === undefined || y === undefined) return [];
            return [{ name: s.name, value: at.text, at: at.order, y, text: changed(y, goal.unit) }];
          });
          if (values.length === 0) continue;
          const means = [...grouped(values, (v) => String(v.at))].map(([, of]) => ({
            at: of[0]!.at,
            y: of.reduce((sum, v) => sum + v.y, 0) / of.length,
          }));
          const x = {
            field: 'at',
            type: 'quantitative',
            title: fitted(look, parameter, 11, width),
            scale: { zero: false, nice: false, padding: 12 },
            axis: {
              tickCount: Math.min(distinct(values.map((v) => v.at)).length, 8),
              labelFlush: true,
              format: '~r',
            },
          };
          const y = {
            field: 'y',
            type: 'quantitative',
            title: null,
            axis: { grid: true, tickCount: 5, format: '~r', minExtent: 44, maxExtent: 44 },
          };
          const of = governors.length > 1 ? `${governor}, ` : '';
          parts.push({
            width,
            height: 150,
            title: partTitle(look, `${of}${axisTitle(goal)}`, width),
            layer: [
              {
                data: { values },
                mark: {
                  type: 'point',
                  filled: true,
                  size: values.length > 400 ? 12 : 28,
                  opacity: 0.45,
                  color: ink.quiet,
                },
                encoding: {
                  x,
                  y,
                  tooltip: [
                    { field: 'name', type: 'nominal', title: 'setting' },
                    { field: 'text', type: 'nominal', title: goal.label },
                  ],
                },
              },
              {
                data: { values: means },
                mark: { type: 'line', color: ink.accent, strokeWidth: 1.75, point: { color: ink.accent } },
                encoding: { x, y },
              },
            ],
          });
        }
      }
    }
    if (parts.length === 0) return null;
    if (parts.length === 1) return parts[0]!;
    return {
      concat: parts,
      columns,
      spacing: { row: 18, column: 20 },
      resolve: { scale: { x: 'independent', y: 'independent' } },
    };
  },
};
