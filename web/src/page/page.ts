// SPDX-License-Identifier: GPL-2.0-only
// The report page, from the data that it holds.

import type { Chart } from '../chart';
import { CHARTS } from '../charts';
import { readPage, Tables, type Page, type Table } from '../contract';
import { grouped } from '../contract';
import { type Theme } from '../look';
import { comparison } from './comparison';
import { download, el, fileName, unseen } from './dom';
import { figure, type Figure } from './figure';
import { lane } from './lane';
import { plain } from './table';

/** Figures of the page: their charts, and the tables behind them. */
const FIGURES: { id: string; charts: [string, string][]; behind: string[]; wide?: boolean }[] = [
  {
    id: 'front',
    charts: [
      ['mean', 'front'],
      ['p99', 'front-p99'],
    ],
    behind: ['front'],
  },
  { id: 'misses', charts: [['', 'misses']], behind: ['misses'] },
  {
    id: 'residency',
    charts: [
      ['by cluster', 'residency'],
      ['by CPU', 'residency-cpu'],
    ],
    behind: ['residency'],
  },
  { id: 'periods', charts: [['', 'periods']], behind: ['periods', 'targets'] },
  { id: 'latency', charts: [['', 'latency']], behind: ['latency'] },
  { id: 'response', charts: [['', 'response']], behind: ['response'], wide: true },
  { id: 'changes', charts: [['', 'changes']], behind: ['changes'], wide: true },
  { id: 'published', charts: [['', 'published']], behind: ['published'], wide: true },
  { id: 'points', charts: [['', 'points']], behind: ['points', 'medians'], wide: true },
  { id: 'divergence', charts: [['', 'divergence']], behind: ['divergence'], wide: true },
  { id: 'settings', charts: [['', 'settings']], behind: ['swept_settings'], wide: true },
  { id: 'parameters', charts: [['', 'parameters']], behind: ['setting_values'], wide: true },
  { id: 'heat', charts: [['', 'heat']], behind: ['setting_values'], wide: true },
  { id: 'parallel', charts: [['', 'parallel']], behind: ['setting_values'], wide: true },
];

/** What the links to figures are called, where that is not their id. */
const LINKS: Record<string, string> = {
  front: 'energy and latency',
  heat: 'two parameters together',
  misses: 'too deep, too shallow',
  parallel: 'all parameters',
  settings: 'front',
};

const chartNamed = (name: string): Chart | undefined => CHARTS.find((c) => c.name === name);

export function start(): void {
  const root = document.getElementById('page');
  const data = document.getElementById('data')?.textContent ?? '';
  if (!root) return;
  try {
    build(root, readPage(data), data);
  } catch (error) {
    root.append(
      el(
        'p',
        { class: 'failed', role: 'alert' },
        `This page cannot be shown: ${error instanceof Error ? error.message : String(error)}`,
      ),
    );
    throw error;
  }
}

function build(root: HTMLElement, page: Page, json: string): void {
  const all = new Tables(page);
  const shown: { recording: string | null; governors: Set<string> } = {
    recording: null,
    governors: new Set(all.governors().map((g) => g.name)),
  };
  const dark = matchMedia('(prefers-color-scheme: dark)');
  let choice: 'auto' | Theme = 'auto';
  let printing = false;
  const theme = (): Theme =>
    printing ? 'light' : choice !== 'auto' ? choice : dark.matches ? 'dark' : 'light';

  const figures: Figure[] = [];
  const drawn = new Set<string>(['measures', 'timeline']);
  for (const { id, charts, behind, wide } of FIGURES) {
    const variants = charts.flatMap(([label, name]) => {
      const chart = chartNamed(name);
      return chart && chart.tables.every((t) => all.has(t)) && drawable(chart, all) ? [{ label, chart }] : [];
    });
    const tables = behind.flatMap((name) => page.tables.filter((t) => t.name === name && t.rows.length > 0));
    const made = figure(id, variants, tables);
    if (!made) continue;
    // Small multiples, one for each recording, need the width.
    if (wide || (id === 'front' && all.recordings().length > 1)) made.element.classList.add('wide');
    for (const name of behind) drawn.add(name);
    figures.push(made);
  }
  if (all.has('timeline')) figures.push(lane('timeline', all));
  // A chart that stands alone in its row has the row.
  const narrow = figures.filter((f) => !f.element.classList.contains('wide'));
  if (narrow.length % 2 === 1) narrow.at(-1)?.element.classList.add('wide');

  const answer = el('div', { id: 'comparison' });
  const filters = controls(all, shown, redraw);
  root.append(
    head(page, figures, (value) => {
      choice = value;
      redraw();
    }),
    el(
      'main',
      {},
      notice('warnings', page.warnings.length === 1 ? 'Warning' : 'Warnings', page.warnings),
      el('section', { class: 'answer', 'aria-label': 'The answer' }, verdicts(page), answer),
      notice('sampled', 'Left out of this page', page.sampled),
      filters ?? '',
      el('div', { class: 'charts' }, ...figures.map((f) => f.element)),
      ...others(page, drawn),
      evidence(page),
      making(page, json),
    ),
  );

  let queue: Figure[] = [];
  let timer = 0;
  function redraw(): void {
    document.documentElement.dataset['theme'] = theme();
    document.documentElement.dataset['drawn'] = 'no';
    const some = shown.governors.size === all.governors().length ? null : shown.governors;
    const tables = new Tables(page, { recording: shown.recording, governors: some });
    answer.replaceChildren(comparison(tables) ?? '');
    queue = [...figures];
    clearTimeout(timer);
    const next = () => {
      const one = queue.shift();
      if (!one) {
        document.documentElement.dataset['drawn'] = 'yes';
        return;
      }
      one.draw(tables, theme());
      // On paper nothing is drawn later.
      if (printing) next();
      else timer = setTimeout(next) as unknown as number;
    };
    next();
  }
  redraw();

  let width = document.documentElement.clientWidth;
  let resized = 0;
  addEventListener('resize', () => {
    if (document.documentElement.clientWidth === width) return;
    width = document.documentElement.clientWidth;
    clearTimeout(resized);
    resized = setTimeout(redraw, 120) as unknown as number;
  });
  dark.addEventListener('change', redraw);
  addEventListener('beforeprint', () => {
    printing = true;
    for (const details of document.querySelectorAll<HTMLDetailsElement>('details.evidence'))
      details.open = true;
    redraw();
  });
  addEventListener('afterprint', () => {
    printing = false;
    redraw();
  });
}

/** Whether a chart finds something in the tables that it needs. */
function drawable(chart: Chart, tables: Tables): boolean {
  return (
    chart.draw(tables, {
      theme: 'light',
      width: 600,
      titled: false,
      caption: '',
      font: 'sans-serif',
      measure: (t, s) => t.length * s * 0.5,
    }) !== null
  );
}

function head(page: Page, figures: Figure[], setTheme: (theme: 'auto' | Theme) => void): HTMLElement {
  const select = el(
    'select',
    { id: 'theme', change: () => setTheme(select.value as 'auto' | Theme) },
    el('option', { value: 'auto' }, 'as the system'),
    el('option', { value: 'light' }, 'light'),
    el('option', { value: 'dark' }, 'dark'),
  );
  const links = figures.map((f) =>
    el('a', { href: `#${f.element.id}` }, LINKS[f.element.id] ?? f.element.id),
  );
  return el(
    'header',
    {},
    el(
      'div',
      { class: 'bar' },
      el('span', { class: 'kicker' }, `idlewise ${page.kind} \u00b7 ${page.version}`),
      el('label', { class: 'theme', for: 'theme' }, 'Colours ', select),
    ),
    el('h1', {}, page.title),
    page.trust.grade === ''
      ? null
      : el(
          'p',
          { class: 'trust' },
          el('strong', {}, `Trust: ${page.trust.grade}`),
          page.trust.why === '' ? '' : ` \u2014 ${page.trust.why}`,
        ),
    el(
      'nav',
      { 'aria-label': 'Sections' },
      ...links,
      el('a', { href: '#evidence' }, 'evidence'),
      el('a', { href: '#making' }, 'command and hashes'),
    ),
  );
}

function notice(name: string, label: string, texts: string[]): HTMLElement | string {
  return texts.length === 0
    ? ''
    : el(
        'aside',
        { class: name, 'aria-label': label },
        el('strong', {}, label),
        el('ul', {}, ...texts.map((t) => el('li', {}, t))),
      );
}

function verdicts(page: Page): HTMLElement | null {
  return page.verdicts.length === 0
    ? null
    : el('ul', { class: 'verdicts' }, ...page.verdicts.map((v) => el('li', {}, v)));
}

/** Which recording and which governors the page shows; null where there is nothing to choose. */
function controls(
  all: Tables,
  shown: { recording: string | null; governors: Set<string> },
  redraw: () => void,
): HTMLElement | null {
  const recordings = all.recordings();
  const governors = all.governors();
  if (recordings.length < 2 && governors.length < 2) return null;
  const select = el(
    'select',
    {
      id: 'recording',
      change: () => {
        shown.recording = select.value === '' ? null : (recordings[Number(select.value)] ?? null);
        redraw();
      },
    },
    el('option', { value: '' }, `all ${recordings.length}`),
    ...recordings.map((r, i) => el('option', { value: i }, r)),
  );
  const boxes = governors.map(({ name }) => {
    const box = el('input', {
      type: 'checkbox',
      checked: true,
      change: () => {
        if (box.checked) shown.governors.add(name);
        else shown.governors.delete(name);
        redraw();
      },
    });
    return { name, box, label: el('label', { class: 'chip' }, box, name) };
  });
  const set = (on: boolean) => {
    for (const { name, box } of boxes) {
      box.checked = on;
      if (on) shown.governors.add(name);
      else shown.governors.delete(name);
    }
    redraw();
  };
  return el(
    'section',
    { class: 'filters', 'aria-label': 'What is shown' },
    recordings.length < 2
      ? null
      : el('label', { for: 'recording' }, `${upper(all.called('recording'))} `, select),
    governors.length < 2
      ? null
      : el(
          'fieldset',
          {},
          el('legend', {}, `${upper(all.called('governor'))}s`),
          ...boxes.map((b) => b.label),
          el('button', { type: 'button', class: 'quiet', click: () => set(true) }, 'all'),
          el('button', { type: 'button', class: 'quiet', click: () => set(false) }, 'none'),
        ),
  );
}

function upper(text: string): string {
  return text.slice(0, 1).toUpperCase() + text.slice(1);
}

/** Tables that no figure has behind it. */
function others(page: Page, drawn: Set<string>): HTMLElement[] {
  return page.tables
    .filter((t) => !drawn.has(t.name))
    .map((t) => el('section', { class: 'other' }, el('h2', {}, t.title), plain(t)));
}

function evidence(page: Page): HTMLElement {
  const groups = [...grouped(page.notes, (n) => n.label)];
  return el(
    'section',
    { id: 'evidence' },
    el('h2', {}, 'Confidence, health and assumptions'),
    groups.length === 0
      ? el('p', { class: 'none' }, 'This report has none.')
      : el(
          'details',
          { class: 'evidence', open: true },
          el('summary', {}, `${page.notes.length} ${page.notes.length === 1 ? 'note' : 'notes'}`),
          el(
            'dl',
            {},
            ...groups.flatMap(([label, notes]) => [
              el('dt', {}, label),
              ...notes.map((n) => el('dd', {}, n.text)),
            ]),
          ),
        ),
  );
}

/** An argument as a shell reads it. */
function quoted(argument: string): string {
  return /^[A-Za-z0-9_./:=,@%+-]+$/.test(argument) ? argument : `'${argument.replaceAll("'", "'\\''")}'`;
}

function making(page: Page, json: string): HTMLElement {
  const hashes: Table = {
    name: 'hashes',
    title: 'Hashes of what was read',
    columns: [
      { name: 'name', label: 'of', type: 'text', unit: '', better: null },
      { name: 'hash', label: 'hash', type: 'text', unit: '', better: null },
    ],
    rows: page.hashes.map((h) => [h.name, h.hash]),
  };
  const report = () => JSON.stringify((JSON.parse(json) as Page).report, null, 2);
  const raw = el('pre', {});
  const details = el('details', { class: 'raw' }, el('summary', {}, 'The JSON result'), raw);
  details.addEventListener('toggle', () => {
    if (details.open && raw.textContent === '') raw.textContent = report();
  });
  const save = el(
    'button',
    {
      type: 'button',
      class: 'quiet',
      click: () => download(`${fileName(page.kind)}.json`, 'application/json', report() + '\n'),
    },
    'Download JSON',
    unseen(' result'),
  );
  return el(
    'section',
    { id: 'making' },
    el('h2', {}, 'Command, versions and hashes'),
    page.command.length === 0
      ? null
      : el('pre', { class: 'command', tabindex: 0 }, page.command.map(quoted).join(' ')),
    el('p', {}, `idlewise ${page.version}. Charts: Vega and Vega-Lite.`),
    page.hashes.length === 0 ? null : plain(hashes),
    page.report === null ? null : el('div', {}, details, save),
  );
}
