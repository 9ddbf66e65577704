// SPDX-License-Identifier: GPL-2.0-only
import type { Chart, Spec } from '../chart';
import { partTitle, room } from '../chart';
import { grouped } from '../contract';
import { fitted, INK, type Look } from '../look';
import { changed, objectives, settings, varied, type Objective, type Setting } from '../settings';

interface Axis {
  label: string;
  of(s: Setting): number | undefined;
  text(value: number): string;
}

function axes(own: Setting[], goals: Objective[]): Axis[] {
  const parameter = (name: string): Axis => {
    const texts = new Map(own.flatMap((s) => s.values.get(name) ?? []).map((v) => [v.order, v.text]));
    return {
      label: name,
      of: (s) => s.values.get(name)?.order,
      text: (value) => texts.get(value) ?? String(value),
    };
  };
  const goal = (o: Objective): Axis => ({
    label: o.label,
    of: (s) => s.changes.get(o.measure),
    text: (value) => changed(value, o.unit),
  });
  return [...varied(own).map(parameter), ...goals.map(goal)];
}

function part(own: Setting[], goals: Objective[], title: string, look: Look): Spec | null {
  const ink = INK[look.theme];
  const all = axes(own, goals);
  if (all.length <= goals.length) return null;
  // The first and the last label stand around the ends of their axes.
  const half = (axis: Axis) => Math.max(30, Math.ceil(look.measure(axis.label, 11, true) / 2) + 4);
  const width = room(look) - half(all[0]!) - half(all.at(-1)!);
  const apart = width / (all.length - 1);
  const ends = all.map((axis) => {
    const values = own.flatMap((s) => axis.of(s) ?? []);
    return { low: Math.min(...values), high: Math.max(...values) };
  });
  const place = (value: number, at: number) => {
    const { low, high } = ends[at]!;
    return high > low ? (value - low) / (high - low) : 0.5;
  };
  const lines = own.flatMap((s) =>
    all.flatMap((axis, at) => {
      const value = axis.of(s);
      if (value === undefined) return [];
      return [{ name: s.name, at, v: place(value, at), front: s.onFront, text: axis.text(value) }];
    }),
  );
  const labels = all.map((axis, at) => ({
    at,
    head: fitted(look, axis.label, 11, Math.max(40, apart - 8)),
    low: axis.text(ends[at]!.low),
    high: axis.text(ends[at]!.high),
  }));
  const x = {
    field: 'at',
    type: 'quantitative',
    axis: null,
    scale: { domain: [0, all.length - 1], nice: false, zero: true },
  };
  const y = { field: 'v', type: 'quantitative', axis: null, scale: { domain: [-0.16, 1.24], nice: false } };
  const drawn = (front: boolean): Spec => ({
    data: { values: lines.filter((l) => l.front === front) },
    mark: {
      type: 'line',
      strokeWidth: front ? 1.75 : 1,
      opacity: front ? 0.9 : own.length > 200 ? 0.12 : 0.3,
      color: front ? ink.accent : ink.quiet,
    },
    encoding: {
      x,
      y,
      detail: { field: 'name', type: 'nominal' },
      order: { field: 'at', type: 'quantitative' },
      tooltip: [
        { field: 'name', type: 'nominal', title: 'setting' },
        { field: 'text', type: 'nominal', title: 'here' },
      ],
    },
  });
  const text = (field: 'head' | 'low' | 'high', v: number, bold: boolean): Spec => ({
    data: { values: labels.map((l) => ({ at: l.at, v, text: l[field] })) },
    mark: {
      type: 'text',
      fontSize: 11,
      fontWeight: bold ? 'bold' : 'normal',
      color: bold ? ink.text : ink.quiet,
    },
    encoding: { x, y, text: { field: 'text', type: 'nominal' } },
  });
  return {
    width,
    height: 260,
    title: partTitle(look, title, width),
    layer: [
      {
        data: { values: labels.map((l) => ({ at: l.at, v: 0, to: 1 })) },
        mark: { type: 'rule', color: ink.line },
        encoding: { x, y, y2: { field: 'to' } },
      },
      drawn(false),
      drawn(true),
      text('head', 1.18, true),
      text('high', 1.07, false),
      text('low', -0.08, false),
    ],
  };
}

export const parallel: Chart = {
  name: 'parallel',
  title: 'All settings across their parameters',
  about:
    'A line is a setting: it crosses each parameter at its value, and the measures of the front at its change against the baseline, less below. Strong lines are on the front.',
  tables: ['setting_values'],
  draw(tables, look): Spec | null {
    const goals = objectives(tables);
    const all = settings(tables).filter((s) => !s.isBaseline);
    const groups = [...grouped(all, (s) => s.governor)];
    const parts = groups.flatMap(([governor, own]): Spec[] => {
      const drawn = part(own, goals, groups.length > 1 ? governor : '', look);
      return drawn ? [drawn] : [];
    });
    if (parts.length === 0) return null;
    return parts.length === 1 ? parts[0]! : { vconcat: parts, spacing: 18 };
  },
};
