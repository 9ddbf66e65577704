// SPDX-License-Identifier: GPL-2.0-only
import type { Chart, Spec } from '../chart';
import { partTitle, room } from '../chart';
import { distinct, grouped } from '../contract';
import { fitted, INK, readable, type Look } from '../look';
import { changed, objectives, settings, varied, type Objective, type Setting } from '../settings';

/** No map has more cells in a row. */
const MOST = 60;

/** How far apart the means of a parameter's values are. */
function reach(of: Setting[], parameter: string, goal: Objective): number {
  const groups = [...grouped(of, (s) => s.values.get(parameter)?.text ?? '').values()];
  const means = groups.flatMap((group) => {
    const all = group.flatMap((s) => s.changes.get(goal.measure) ?? []);
    return all.length === 0 ? [] : [all.reduce((a, b) => a + b, 0) / all.length];
  });
  return means.length === 0 ? 0 : Math.max(...means) - Math.min(...means);
}

function map(
  of: Setting[],
  across: string,
  up: string,
  goal: Objective,
  look: Look,
  width: number,
): Spec | null {
  const ink = INK[look.theme];
  const cells = [...grouped(of, (s) => JSON.stringify([across, up].map((p) => s.values.get(p)?.text)))];
  const values = cells.flatMap(([, group]) => {
    const known = group.filter((s) => s.changes.has(goal.measure));
    const best = known.sort((a, b) => a.changes.get(goal.measure)! - b.changes.get(goal.measure)!)[0];
    const x = best?.values.get(across);
    const y = best?.values.get(up);
    if (!best || !x || !y) return [];
    const change = best.changes.get(goal.measure)!;
    const text = changed(change, goal.unit);
    const short = `${change > 0 ? '+' : ''}${change.toFixed(1)}`.replace('-', '\u2212');
    return [{ x: x.text, xo: x.order, y: y.text, yo: y.order, change, text, short, name: best.name }];
  });
  const sorted = (key: 'x' | 'y', order: 'xo' | 'yo', turn: 1 | -1) =>
    distinct([...values].sort((a, b) => turn * (a[order] - b[order])).map((v) => v[key]));
  const xs = sorted('x', 'xo', 1);
  const ys = sorted('y', 'yo', -1);
  if (xs.length < 2 || ys.length < 2 || xs.length > MOST || ys.length > MOST) return null;
  const most = Math.max(...values.map((v) => Math.abs(v.change))) || 1;
  const height = Math.min(320, Math.max(60, 26 * ys.length));
  const inks = [ink.text, readable(ink.shallow)];
  const step = width / xs.length;
  const inside = step >= Math.max(...values.map((v) => look.measure(v.short, 10))) + 6;
  const x = {
    field: 'x',
    type: 'nominal',
    title: fitted(look, across, 11, width),
    sort: xs,
    axis: { labelAngle: 0, labelOverlap: 'greedy' },
  };
  const y = {
    field: 'y',
    type: 'nominal',
    title: fitted(look, up, 11, height),
    sort: ys,
    axis: { minExtent: 44, maxExtent: 44, labelOverlap: 'greedy' },
  };
  return {
    width,
    height,
    title: partTitle(look, `${goal.label} [${goal.unit}]`, width),
    resolve: { scale: { color: 'independent' } },
    layer: [
      {
        data: { values },
        mark: { type: 'rect', stroke: ink.paper, strokeWidth: 1 },
        encoding: {
          x,
          y,
          color: {
            field: 'change',
            type: 'quantitative',
            legend: null,
            // By hue, what is a little worse would be purple.
            scale: {
              domain: [-most, 0, most],
              range: [ink.shallow, ink.faint, ink.deep],
              interpolate: 'rgb',
            },
          },
          tooltip: [
            { field: 'name', type: 'nominal', title: 'setting' },
            { field: 'text', type: 'nominal', title: goal.label },
          ],
        },
      },
      ...(inside
        ? [
            {
              data: {
                values: values.map((v) => ({ ...v, ink: inks[Math.abs(v.change) > 0.6 * most ? 1 : 0] })),
              },
              mark: { type: 'text', fontSize: 10 },
              encoding: {
                x,
                y,
                text: { field: 'short', type: 'nominal' },
                color: { field: 'ink', type: 'nominal', legend: null, scale: { domain: inks, range: inks } },
              },
            },
          ]
        : []),
    ],
  };
}

export const heat: Chart = {
  name: 'heat',
  title: 'Two parameters together',
  about:
    'Each cell is the change against the baseline: blue is less, which is better, orange is more. Where there are more than two parameters these are the two that matter most, and a cell is the best of the settings that have its values.',
  tables: ['setting_values'],
  draw(tables, look): Spec | null {
    const goals = objectives(tables).slice(0, 2);
    const columns = look.width >= 640 && goals.length > 1 ? 2 : 1;
    const width = Math.floor((room(look) - (columns - 1) * 20) / columns) - 78;
    const all = settings(tables).filter((s) => !s.isBaseline);
    const parts = [...grouped(all, (s) => s.governor).values()].flatMap((own): Spec[] => {
      const first = goals[0];
      if (!first) return [];
      const names = varied(own);
      // In the order in which they were given, the two that reach farthest.
      const far = [...names].sort((a, b) => reach(own, b, first) - reach(own, a, first)).slice(0, 2);
      const [across, up] = names.filter((n) => far.includes(n));
      if (across === undefined || up === undefined) return [];
      return goals.flatMap((goal): Spec[] => {
        const drawn = map(own, across, up, goal, look, width);
        return drawn ? [drawn] : [];
      });
    });
    if (parts.length === 0) return null;
    if (parts.length === 1) return parts[0]!;
    return {
      concat: parts,
      columns,
      spacing: { row: 18, column: 20 },
      resolve: { scale: { x: 'independent', y: 'independent', color: 'independent' } },
    };
  },
};
