// SPDX-License-Identifier: GPL-2.0-only
// Settings of a sweep, as the charts of one need them: a setting with its values and its changes together.

import type { Tables } from './contract';
import { distinct, grouped } from './contract';
import { finite } from './chart';
import { quantity } from './text';

/** A measure of the front. */
export interface Objective {
  measure: string;
  label: string;
  unit: string;
}

export interface Setting {
  name: string;
  governor: string;
  isBaseline: boolean;
  onFront: boolean;
  /** Changes against the baseline, by measure. */
  changes: ReadonlyMap<string, number>;
  /** By parameter: the value in words, and where it stands among the others. */
  values: ReadonlyMap<string, { text: string; order: number }>;
}

/** The measures of the front, the first first. */
export function objectives(tables: Tables): Objective[] {
  const of = tables.rows('swept_settings').filter((r) => r.place > 0);
  return [...grouped(of, (r) => r.measure).values()]
    .map((rows) => rows[0]!)
    .sort((a, b) => a.place - b.place)
    .map(({ measure, label, unit }) => ({ measure, label, unit }));
}

/** All settings, in the order of the report. */
export function settings(tables: Tables): Setting[] {
  const values = grouped(tables.rows('setting_values'), (r) => r.setting);
  return [...grouped(tables.rows('swept_settings'), (r) => r.setting)].map(([name, rows]) => ({
    name,
    governor: rows[0]!.governor,
    isBaseline: rows[0]!.role === 'baseline',
    onFront: rows[0]!.on_front === 'yes',
    changes: new Map(rows.flatMap((r) => (finite(r.change) ? [[r.measure, r.change] as const] : []))),
    values: new Map(
      (values.get(name) ?? []).map((v) => [v.parameter, { text: v.value, order: v.order }] as const),
    ),
  }));
}

/** Parameters of which these settings have more than one value. */
export function varied(of: Setting[]): string[] {
  const all = distinct(of.flatMap((s) => [...s.values.keys()]));
  return all.filter((p) => distinct(of.map((s) => s.values.get(p)?.text ?? '')).length > 1);
}

/** A change in words. */
export function changed(value: number | undefined, unit: string): string {
  if (value === undefined) return '?';
  return `${value > 0 ? '+' : ''}${quantity(value, unit)}`;
}

/** The title of an axis of changes. */
export function axisTitle(o: Objective): string {
  return `change of ${o.label} [${o.unit}] (less is better)`;
}
