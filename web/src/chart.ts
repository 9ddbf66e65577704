// SPDX-License-Identifier: GPL-2.0-only
// What a chart is, and the parts that several charts share.

import type { Rows, TableName, Tables } from './contract';
import { distinct, grouped } from './contract';
import { config, fitted, INK, stateColors, styles, type Look } from './look';

// A specification is plain data in Vega-Lite's language. Data from reports goes into `data.values` and into lists of
// domains only, never into an expression.
export type Spec = Record<string, unknown>;

export interface Chart {
  name: string;
  title: string;
  /** How to read it: one or two sentences. */
  about: string;
  /** The tables that it needs. */
  tables: TableName[];
  /** Null where the tables hold nothing to draw. */
  draw(tables: Tables, look: Look): Spec | null;
}

/** The outermost part of a specification. */
export function finished(chart: Chart, spec: Spec, look: Look): Spec {
  // Where there is one part only, its own title goes below the chart's.
  const own = spec['title'] as { text: string; offset?: number } | undefined;
  const below = [look.caption, own?.text ?? ''].filter((t) => t !== '').join(' \u00b7 ');
  const head = {
    text: fitted(look, chart.title, 14, look.width - 20, true),
    fontSize: 14,
    ...(below === '' ? {} : { subtitle: fitted(look, below, 11, look.width - 20) }),
  };
  const title = look.titled
    ? {
        title: {
          ...head,
          offset: Math.max(12, own?.offset ?? (spec['headroom'] as number | undefined) ?? 0),
        },
      }
    : {};
  const { headroom: _, ...rest } = spec;
  return {
    $schema: 'https://vega.github.io/schema/vega-lite/v6.json',
    background: look.titled ? INK[look.theme].paper : 'transparent',
    padding: look.titled ? 10 : { left: 2, right: 8, top: 4, bottom: 4 },
    ...rest,
    ...title,
    config: config(look),
  };
}

/** Pixels for drawing inside the padding. */
export function room(look: Look): number {
  return look.width - (look.titled ? 20 : 10);
}

/** Nanoseconds on an axis. */
export const NS_LABEL =
  "datum.value === 0 ? '0' : abs(datum.value) >= 1e9 ? format(datum.value / 1e9, '~g') + ' s' : abs(datum.value) >= 1e6 ? format(datum.value / 1e6, '~g') + ' ms' : abs(datum.value) >= 1e3 ? format(datum.value / 1e3, '~g') + ' µs' : format(datum.value, '~g') + ' ns'";

/** How counts stand on an axis that reaches this far. */
export function countFormat(most: number): string {
  return most >= 1e5 ? '~s' : ',~r';
}

/** Decades between two values, so that a logarithmic axis has the labels that fit and no others. */
export function decades(from: number, to: number, pixels: number): number[] {
  const low = Math.floor(Math.log10(from) + 1e-9);
  const high = Math.ceil(Math.log10(to) - 1e-9);
  const step = Math.max(1, Math.ceil((high - low) / Math.max(2, Math.floor(pixels / 52))));
  const inside = (v: number) => v >= from * 0.999 && v <= to * 1.001;
  const out: number[] = [];
  for (let e = low; e <= high; e += step) out.push(10 ** e);
  const few = out.filter(inside);
  if (few.length >= 4 || step > 1) return few;
  const all = out.flatMap((v) => [v, 2 * v, 5 * v]).filter(inside);
  return all.length * 48 <= pixels || few.length < 2 ? all : few;
}

/** Scale and legend by which governors are distinguished; `kind` is what their marks are. */
export function governorScales(
  tables: Tables,
  present: string[],
  look: Look,
  kind: 'point' | 'line' | 'none',
) {
  const all = styles(tables.governors(), look.theme);
  const names = [...all.keys()].filter((g) => present.includes(g));
  const style = names.map((n) => all.get(n)!);
  const widest = Math.max(10, ...names.map((n) => look.measure(n, 11)));
  const columns = Math.max(1, Math.floor(room(look) / (Math.min(widest, 160) + 44)));
  const legend =
    kind === 'none' || names.length < 2
      ? null
      : {
          title: null,
          orient: 'top',
          direction: 'horizontal',
          columns,
          labelLimit: 160,
          symbolSize: kind === 'line' ? 260 : 70,
          symbolType: kind === 'line' ? 'stroke' : undefined,
          offset: 6,
        };
  return {
    names,
    all,
    color: {
      field: 'governor',
      type: 'nominal',
      legend,
      scale: { domain: names, range: style.map((s) => s.color) },
    },
    shape: {
      field: 'governor',
      type: 'nominal',
      legend,
      scale: { domain: names, range: style.map((s) => s.shape) },
    },
    dash: {
      field: 'governor',
      type: 'nominal',
      legend,
      scale: { domain: names, range: style.map((s) => s.dash) },
    },
  };
}

/** The idle states of these rows: what each index is called, and its colour. */
export function stateScale(rows: { state: string; state_index: number }[], look: Look) {
  const names = grouped(rows, (r) => String(r.state_index));
  const indices = distinct(rows.map((r) => r.state_index)).sort((a, b) => a - b);
  const label = new Map(
    indices.map((i) => [i, `${i} ${distinct((names.get(String(i)) ?? []).map((r) => r.state)).join(' / ')}`]),
  );
  const shades = stateColors(Math.max(2, (indices.at(-1) ?? 0) + 1), look.theme);
  const color = (i: number) => shades[i] ?? shades[0] ?? '#888888';
  const domain = indices.map((i) => label.get(i) ?? '');
  const widest = Math.max(10, ...domain.map((n) => look.measure(n, 11)));
  return {
    indices,
    label: (i: number) => label.get(i) ?? String(i),
    color,
    encoding: {
      field: 'label',
      type: 'nominal',
      scale: { domain, range: indices.map(color) },
      legend: {
        title: null,
        orient: 'top',
        direction: 'horizontal',
        symbolType: 'square',
        symbolSize: 110,
        symbolStrokeWidth: 0,
        offset: 6,
        columns: Math.max(1, Math.floor(room(look) / (Math.min(widest, 160) + 40))),
        labelLimit: 160,
      },
    },
  };
}

/** Room for labels at the left of an axis: as wide as the widest, within bounds. */
export function labelRoom(look: Look, texts: string[], size = 11, most = 0.34): number {
  const widest = Math.max(0, ...texts.map((t) => look.measure(t, size)));
  return Math.ceil(Math.min(widest, room(look) * most)) + 10;
}

/** A title above one of several parts. */
export function partTitle(look: Look, text: string, width: number): Spec | undefined {
  return text === '' ? undefined : { text: fitted(look, text, 12, width, true), offset: 6 };
}

/** Names of recordings, where there is more than one. */
export function recordingsOf(rows: { recording: string }[]): {
  names: string[];
  title(name: string): string;
} {
  const names = distinct(rows.map((r) => r.recording));
  return { names, title: (name) => (names.length > 1 ? name : '') };
}

export function finite(value: number | null): value is number {
  return typeof value === 'number' && Number.isFinite(value);
}

export type Row<N extends TableName> = Rows[N];
