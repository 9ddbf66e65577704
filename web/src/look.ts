// SPDX-License-Identifier: GPL-2.0-only
// The one look of all charts: colours, shapes, type, and how wide a text is.

import type { Role } from './contract';

export type Theme = 'light' | 'dark';

export interface Look {
  theme: Theme;
  /** Of the whole picture, in pixels. */
  width: number;
  /** Whether the picture stands alone and bears its title. */
  titled: boolean;
  /** What a picture that stands alone says below its title: of which report it is. */
  caption: string;
  font: string;
  /** Pixels of a text in this font. */
  measure(text: string, size: number, bold?: boolean): number;
}

export interface Ink {
  paper: string;
  text: string;
  quiet: string;
  line: string;
  faint: string;
  accent: string;
  deep: string;
  shallow: string;
  /** Of governors; distinct for the colour-blind (after Okabe and Ito), and always next to a shape or a dash. */
  governors: readonly string[];
  /** Of idle states, from the shallowest to the deepest. */
  states: readonly [string, string];
}

export const INK: Record<Theme, Ink> = {
  light: {
    paper: '#ffffff',
    text: '#1c1f23',
    quiet: '#5a626b',
    line: '#c9ced4',
    faint: '#eceef1',
    accent: '#00609c',
    deep: '#c44e00',
    shallow: '#0072b2',
    governors: ['#0072b2', '#d55e00', '#00875f', '#a8488a', '#b27a00', '#3f9bd8'],
    states: ['#dbe7f1', '#0b4a78'],
  },
  dark: {
    paper: '#16191d',
    text: '#e8eaed',
    quiet: '#a3abb5',
    line: '#424a54',
    faint: '#262b31',
    accent: '#6bb8f0',
    deep: '#f08a4b',
    shallow: '#56b4e9',
    governors: ['#56b4e9', '#f08a4b', '#2cc295', '#dd8fc0', '#e6b422', '#9cc9ff'],
    states: ['#32414f', '#8fd0ff'],
  },
};

// Five shapes and six colours: thirty governors before one has both of another's.
const SHAPES = ['circle', 'square', 'triangle-up', 'cross', 'triangle-down'];
const DASHES: readonly number[][] = [
  [1, 0],
  [7, 3],
  [2, 2],
  [9, 3, 2, 3],
  [13, 4],
];

export interface Style {
  color: string;
  shape: string;
  dash: number[];
  filled: boolean;
}

/** How each governor is drawn, everywhere: the baseline in the ink of text, a bound as a hollow diamond. */
export function styles(governors: { name: string; role: Role }[], theme: Theme): Map<string, Style> {
  const ink = INK[theme];
  const out = new Map<string, Style>();
  let n = 0;
  for (const { name, role } of governors) {
    if (role === 'baseline') out.set(name, { color: ink.text, shape: 'circle', dash: [1, 0], filled: true });
    else if (role === 'bound')
      out.set(name, { color: ink.quiet, shape: 'diamond', dash: [4, 4], filled: false });
    else {
      const color = ink.governors[n % ink.governors.length] ?? ink.text;
      out.set(name, {
        color,
        shape: SHAPES[(n + 1) % SHAPES.length] ?? 'circle',
        dash: [...(DASHES[n % DASHES.length] ?? [])],
        filled: true,
      });
      n += 1;
    }
  }
  return out;
}

function mixed(from: string, to: string, share: number): string {
  const at = (color: string, i: number) => parseInt(color.slice(1 + 2 * i, 3 + 2 * i), 16);
  return (
    '#' +
    [0, 1, 2]
      .map((i) =>
        Math.round(at(from, i) + (at(to, i) - at(from, i)) * share)
          .toString(16)
          .padStart(2, '0'),
      )
      .join('')
  );
}

/** The colours of so many idle states, shallowest first. */
export function stateColors(count: number, theme: Theme): string[] {
  const [from, to] = INK[theme].states;
  return Array.from({ length: count }, (_, i) => mixed(from, to, count < 2 ? 0.5 : i / (count - 1)));
}

/** Black or white, whichever is read on this colour. */
export function readable(color: string): string {
  const [r, g, b] = [0, 1, 2].map((i) => parseInt(color.slice(1 + 2 * i, 3 + 2 * i), 16) / 255);
  const light = 0.2126 * (r ?? 0) ** 2.2 + 0.7152 * (g ?? 0) ** 2.2 + 0.0722 * (b ?? 0) ** 2.2;
  return light > 0.3 ? '#14171a' : '#ffffff';
}

/** What stands in for a text that is wider than it may be. */
export function fitted(look: Look, text: string, size: number, width: number, bold = false): string {
  if (look.measure(text, size, bold) <= width) return text;
  let n = text.length;
  while (n > 1 && look.measure(text.slice(0, n) + '\u2026', size, bold) > width) n -= 1;
  return text.slice(0, n) + '\u2026';
}

/** Vega-Lite's configuration: quiet axes, no frame, ink for data. */
export function config(look: Look): object {
  const ink = INK[look.theme];
  const axis = {
    labelColor: ink.quiet,
    titleColor: ink.quiet,
    titleFontWeight: 'normal',
    titleFontSize: 11,
    labelFontSize: 11,
    domainColor: ink.line,
    tickColor: ink.line,
    gridColor: ink.faint,
    gridWidth: 1,
    tickSize: 4,
    labelPadding: 3,
    titlePadding: 6,
  };
  return {
    font: look.font,
    view: { stroke: null },
    axis,
    axisY: { domain: false, ticks: false, labelPadding: 6 },
    axisX: { grid: false },
    axisQuantitative: { labelOverlap: 'greedy', labelSeparation: 8 },
    title: {
      color: ink.text,
      fontSize: 12,
      fontWeight: 'bold',
      anchor: 'start',
      frame: 'group',
      subtitleColor: ink.quiet,
      subtitleFontSize: 11,
      offset: 8,
    },
    legend: {
      labelColor: ink.text,
      titleColor: ink.quiet,
      labelFontSize: 11,
      titleFontSize: 11,
      titleFontWeight: 'normal',
      symbolStrokeWidth: 2,
      rowPadding: 3,
      columnPadding: 14,
    },
    text: { color: ink.text, fontSize: 11 },
    rule: { color: ink.line },
    concat: { spacing: 14 },
    aria: false,
  };
}
