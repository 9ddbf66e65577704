// SPDX-License-Identifier: GPL-2.0-only
// A chart in the page: drawn anew for width and theme, with its numbers behind it.

import { finished, type Chart, type Spec } from '../chart';
import type { Table, Tables } from '../contract';
import type { Look, Theme } from '../look';
import { standalone } from '../headless';
import { viewOf } from '../render';
import { download, el, fileName } from './dom';
import { folded } from './table';

type View = ReturnType<typeof viewOf>;

const FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif';

let pen: CanvasRenderingContext2D | null = null;

function measure(text: string, size: number, bold = false): number {
  pen ??= document.createElement('canvas').getContext('2d');
  if (!pen) return text.length * size * 0.56;
  pen.font = `${bold ? 'bold ' : ''}${size}px ${FONT}`;
  return pen.measureText(text).width;
}

export function lookOf(theme: Theme, width: number): Look {
  return { theme, width: Math.max(300, Math.floor(width)), titled: false, caption: '', font: FONT, measure };
}

let bubble: HTMLElement | null = null;

/** What is under the pointer, as lines of text. */
function tooltip(_: unknown, event: MouseEvent, __: unknown, value: unknown): void {
  if (value === null || value === undefined || typeof value !== 'object') {
    if (bubble) bubble.hidden = true;
    return;
  }
  if (!bubble) document.body.append((bubble = el('div', { class: 'bubble', hidden: true })));
  const entries = Object.entries(value as Record<string, unknown>).filter(
    ([, v]) => v !== '' && v !== null && v !== undefined,
  );
  bubble.replaceChildren(
    ...entries.flatMap(([k, v]) => [el('span', { class: 'k' }, k), el('span', {}, String(v))]),
  );
  bubble.hidden = false;
  const box = bubble.getBoundingClientRect();
  const x = Math.min(event.clientX + 14, document.documentElement.clientWidth - box.width - 8);
  const y =
    event.clientY + 16 + box.height > window.innerHeight
      ? event.clientY - box.height - 10
      : event.clientY + 16;
  bubble.style.left = `${Math.max(4, x)}px`;
  bubble.style.top = `${Math.max(4, y)}px`;
}

/** Puts a drawing into an element, in place of the one before. */
export function put(into: HTMLElement, spec: Spec, before: View | null): View {
  before?.finalize();
  into.replaceChildren();
  const view = viewOf(spec, into);
  view.tooltip(tooltip as Parameters<View['tooltip']>[0]);
  view.run();
  // The container says what it is; a thousand marks do not help a screen reader.
  for (const svg of into.querySelectorAll('svg')) svg.setAttribute('aria-hidden', 'true');
  return view;
}

export interface Figure {
  element: HTMLElement;
  draw(tables: Tables, theme: Theme): void;
}

/** A chart, or several of the same kind to choose from. `null` where the tables hold nothing for it. */
export function figure(
  id: string,
  variants: { label: string; chart: Chart }[],
  behind: Table[],
): Figure | null {
  const first = variants[0]?.chart;
  if (!first) return null;
  let shown = first;
  let view: View | null = null;
  let last: { tables: Tables; theme: Theme } | null = null;
  const stage = el('div', {
    class: 'stage',
    role: 'img',
    'aria-label': `${first.title}. ${first.about} The numbers are in the tables below.`,
  });
  const title = el('h2', {}, first.title);
  const about = el('p', { class: 'about' }, first.about);
  const draw = (tables: Tables, theme: Theme) => {
    last = { tables, theme };
    const look = lookOf(theme, stage.clientWidth || element.clientWidth);
    const spec = shown.draw(tables, look);
    if (spec) {
      view = put(stage, finished(shown, spec, look), view);
      stage.dataset['chart'] = shown.name;
    } else
      stage.replaceChildren(
        el('p', { class: 'none' }, 'Nothing to draw for this choice of recording and governors.'),
      );
  };
  const save = async () => {
    if (!last) return;
    const look = standalone(last.theme, Math.max(560, Math.floor(stage.clientWidth)), document.title);
    const spec = shown.draw(last.tables, look);
    if (spec)
      download(
        `${fileName(shown.name)}.svg`,
        'image/svg+xml',
        await viewOf(finished(shown, spec, look), null).toSVG(),
      );
  };
  const choose =
    variants.length < 2
      ? null
      : el(
          'div',
          { class: 'choices', role: 'group', 'aria-label': 'Variant of the chart' },
          ...variants.map(({ label, chart }, i) => {
            const button = el(
              'button',
              {
                type: 'button',
                'aria-pressed': i === 0 ? 'true' : 'false',
                click: () => {
                  shown = chart;
                  title.textContent = chart.title;
                  about.textContent = chart.about;
                  stage.setAttribute('aria-label', `${chart.title}. ${chart.about}`);
                  for (const b of choose?.children ?? [])
                    b.setAttribute('aria-pressed', String(b === button));
                  if (last) draw(last.tables, last.theme);
                },
              },
              label,
            );
            return button;
          }),
        );
  const element = el(
    'figure',
    { id, class: 'chart' },
    el('figcaption', {}, title, choose, about),
    stage,
    el(
      'div',
      { class: 'behind' },
      ...behind.map((t) => folded(t, t.title)),
      el('button', { type: 'button', class: 'quiet', click: () => void save() }, 'Save as SVG'),
    ),
  );
  return { element, draw };
}
