// SPDX-License-Identifier: GPL-2.0-only
// What the command's JavaScript engine calls: a chart as SVG, without a browser. The text of `widths.json` comes from
// the font's own table (tools in vite.config.ts), so that a label is as wide as it will be drawn.

import { textMetrics } from 'vega-scenegraph';
import { finished, type Chart } from './chart';
import { CHARTS } from './charts';
import { readPage, Tables } from './contract';
import type { Look, Theme } from './look';
import { viewOf } from './render';
import widths from 'virtual:widths';

// Metrically Arial: what draws the SVG has one of these.
const FONT = 'Arimo, "Liberation Sans", Helvetica, Arial, sans-serif';

function measure(text: string, size: number, bold = false): number {
  const table = bold ? widths.bold : widths.regular;
  let sum = 0;
  for (const c of text) sum += table[c] ?? widths.other;
  return (sum * size) / widths.em;
}

interface Item {
  text?: unknown;
  fontSize?: number;
  fontWeight?: string | number;
}

function measureItem(item: Item, text: unknown): number {
  const lines = Array.isArray(text) ? text : [text];
  const bold = item.fontWeight === 'bold' || Number(item.fontWeight) >= 600;
  return Math.max(0, ...lines.map((line) => measure(String(line ?? ''), item.fontSize ?? 11, bold)));
}

/** How a picture looks that stands alone, wherever it is drawn. */
export function standalone(theme: Theme, width: number, caption: string): Look {
  return { theme, width, titled: true, caption, font: FONT, measure };
}

function named(name: string): Chart {
  const chart = CHARTS.find((c) => c.name === name);
  if (!chart) throw new Error(`no chart is called ${name}`);
  return chart;
}

export async function svg(name: string, json: string, width: number, theme: Theme): Promise<string> {
  textMetrics.width = measureItem as typeof textMetrics.width;
  const chart = named(name);
  const page = readPage(json);
  const look = standalone(theme, width, page.title);
  const tables = new Tables(page);
  const spec = chart.tables.every((t) => tables.has(t)) ? chart.draw(tables, look) : null;
  if (!spec) return '';
  return viewOf(finished(chart, spec, look), null).toSVG();
}

/** Name, title and tables of every chart. */
export function list(): string {
  return JSON.stringify(
    CHARTS.map((c) => ({ name: c.name, title: c.title, about: c.about, tables: c.tables })),
  );
}
