// SPDX-License-Identifier: GPL-2.0-only
// The timeline of one CPU: zoom, pan, and the explanation of the decision that is chosen.

import { finished, type Spec } from '../chart';
import { drawWindow, firstWindow, lanes, timeline, type Period, type Window } from '../charts/timeline';
import type { Tables } from '../contract';
import { distinct } from '../contract';
import type { Theme } from '../look';
import { duration } from '../text';
import { el } from './dom';
import { lookOf, put, type Figure } from './figure';
import { folded } from './table';

const SHORTEST = 1_000;

export function lane(id: string, all: Tables): Figure {
  let tables = all;
  let theme: Theme = 'light';
  let view: ReturnType<typeof put> | null = null;
  let window: Window | null = firstWindow(all.rows('timeline'));
  let chosen: Period | null = null;
  let waiting = false;

  const stage = el('div', {
    class: 'stage timeline',
    tabindex: 0,
    role: 'group',
    'aria-label': `${timeline.title}. Arrow keys left and right move, plus and minus zoom, n and p choose the next and the previous period, arrow keys up and down the lane.`,
  });
  const range = el('output', { class: 'range' });
  const panel = el(
    'div',
    { class: 'panel', 'aria-live': 'polite' },
    el('p', { class: 'none' }, 'Choose a period to see why.'),
  );
  const recordings = el('select', {
    'aria-label': 'Recording',
    change: () => {
      start(recordings.value, null);
    },
  });
  const cpus = el('select', {
    'aria-label': 'CPU',
    change: () => {
      start(recordings.value, Number(cpus.value));
    },
  });

  const rows = () =>
    tables.rows('timeline').filter((r) => r.recording === window?.recording && r.cpu === window?.cpu);

  function extent(): [number, number] {
    let [from, to] = [Infinity, -Infinity];
    for (const r of rows()) {
      from = Math.min(from, r.start_ns);
      to = Math.max(to, r.end_ns);
    }
    return [from, to];
  }

  /** The window of a recording's CPU, the first one where none is named. */
  function start(recording: string, cpu: number | null): void {
    const of = tables
      .rows('timeline')
      .filter((r) => r.recording === recording && (cpu === null || r.cpu === cpu));
    window = firstWindow(of);
    choose(null);
    fillChoices();
    soon();
  }

  function fillChoices(): void {
    const names = distinct(tables.rows('timeline').map((r) => r.recording));
    recordings.replaceChildren(
      ...names.map((n) => el('option', { value: n, selected: n === window?.recording }, n)),
    );
    recordings.hidden = names.length < 2;
    const mine = distinct(
      tables
        .rows('timeline')
        .filter((r) => r.recording === window?.recording)
        .map((r) => r.cpu),
    ).sort((a, b) => a - b);
    cpus.replaceChildren(
      ...mine.map((c) => el('option', { value: c, selected: c === window?.cpu }, `CPU ${c}`)),
    );
    cpus.hidden = mine.length < 2;
  }

  function move(from: number, to: number): void {
    if (!window) return;
    const [first, last] = extent();
    const span = Math.min(Math.max(to - from, SHORTEST), last - first);
    const at = Math.min(Math.max(from, first), last - span);
    window = { ...window, from: at, to: at + span };
    soon();
  }

  /** Zooms by a factor around a share of the window. */
  function zoom(factor: number, around = 0.5): void {
    if (!window) return;
    const span = window.to - window.from;
    const center = window.from + span * around;
    move(center - span * factor * around, center + span * factor * (1 - around));
  }

  function pan(share: number): void {
    if (!window) return;
    const by = (window.to - window.from) * share;
    move(window.from + by, window.to + by);
  }

  function choose(period: Period | null): void {
    chosen = period;
    if (!period) {
      panel.replaceChildren(el('p', { class: 'none' }, 'Choose a period to see why.'));
      return;
    }
    const fact = (name: string, text: string) =>
      text === '' ? [] : [el('dt', {}, name), el('dd', {}, text)];
    panel.replaceChildren(
      el('h3', {}, `${period.lane}: state ${period.state_index} ${period.state}`),
      el(
        'dl',
        {},
        ...fact('from', `${(period.start_ns / 1e9).toFixed(9)} s`),
        ...fact('idle for', duration(period.end_ns - period.start_ns)),
        ...fact('verdict', period.verdict),
        ...fact('woken by', period.wake),
      ),
      el(
        'p',
        { class: 'why' },
        period.why === ''
          ? period.governor === ''
            ? 'What the recording holds.'
            : 'No explanation in this report.'
          : period.why,
      ),
    );
  }

  function step(by: number, otherLane: number): void {
    if (!window) return;
    const mine = rows();
    const names = lanes(mine);
    const lane_at = chosen ? names.indexOf(chosen.lane) : 0;
    const name = names[Math.min(Math.max(lane_at + otherLane, 0), names.length - 1)];
    const of = mine.filter((r) => r.lane === name).sort((a, b) => a.start_ns - b.start_ns);
    const near = chosen?.start_ns ?? window.from;
    let at = of.findIndex((r) => r.start_ns >= near);
    if (at < 0) at = of.length - 1;
    if (chosen) at += by;
    const next = of[Math.min(Math.max(at, 0), of.length - 1)];
    if (!next) return;
    choose(next);
    if (next.start_ns < window.from || next.end_ns > window.to) {
      const span = window.to - window.from;
      move(next.start_ns - span * 0.2, next.start_ns + span * 0.8);
    }
    soon();
  }

  function drawNow(): void {
    waiting = false;
    if (!window || rows().length === 0) {
      stage.replaceChildren(el('p', { class: 'none' }, 'Nothing to draw for this choice of recording.'));
      return;
    }
    const look = lookOf(theme, stage.clientWidth);
    const spec: Spec = drawWindow(tables, look, window, chosen);
    view = put(stage, finished(timeline, spec, look), view);
    stage.dataset['chart'] = timeline.name;
    view.addEventListener('click', (_, item) => {
      const datum = item?.datum as { lane?: string; start_ns?: number } | undefined;
      const period = rows().find((r) => r.lane === datum?.lane && r.start_ns === datum?.start_ns);
      if (period) {
        choose(period);
        soon();
      }
    });
    const [first, last] = extent();
    range.textContent = `${duration(window.to - window.from)} of ${duration(last - first)}`;
  }

  function soon(): void {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(drawNow);
  }

  const whole = () => {
    const [from, to] = extent();
    move(from, to);
  };
  stage.addEventListener('keydown', (event) => {
    const keys: Record<string, () => void> = {
      ArrowLeft: () => pan(-0.2),
      ArrowRight: () => pan(0.2),
      PageUp: () => pan(-0.9),
      PageDown: () => pan(0.9),
      '+': () => zoom(0.6),
      '=': () => zoom(0.6),
      '-': () => zoom(1 / 0.6),
      '0': whole,
      Home: () => move(extent()[0], extent()[0] + (window ? window.to - window.from : 0)),
      End: () => move(extent()[1] - (window ? window.to - window.from : 0), extent()[1]),
      n: () => step(1, 0),
      p: () => step(-1, 0),
      ArrowDown: () => step(0, 1),
      ArrowUp: () => step(0, -1),
    };
    const act = event.ctrlKey || event.metaKey || event.altKey ? undefined : keys[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  });
  // The wheel scrolls the page until the timeline has the focus, so that nobody is caught in it.
  stage.addEventListener(
    'wheel',
    (event) => {
      if (!event.ctrlKey && document.activeElement !== stage) return;
      event.preventDefault();
      const box = stage.getBoundingClientRect();
      zoom(event.deltaY > 0 ? 1.25 : 0.8, Math.min(1, Math.max(0, (event.clientX - box.left) / box.width)));
    },
    { passive: false },
  );
  let grip: { x: number; from: number; to: number } | null = null;
  stage.addEventListener('pointerdown', (event) => {
    if (window) grip = { x: event.clientX, from: window.from, to: window.to };
  });
  stage.addEventListener('pointermove', (event) => {
    if (!grip || event.buttons === 0 || Math.abs(event.clientX - grip.x) < 4) return;
    const by = ((grip.x - event.clientX) / stage.clientWidth) * (grip.to - grip.from);
    move(grip.from + by, grip.to + by);
  });
  globalThis.addEventListener('pointerup', () => {
    grip = null;
  });

  const button = (text: string, label: string, act: () => void) =>
    el('button', { type: 'button', 'aria-label': label, title: label, click: act }, text);
  const element = el(
    'figure',
    { id, class: 'chart wide' },
    el('figcaption', {}, el('h2', {}, timeline.title), el('p', { class: 'about' }, timeline.about)),
    el(
      'div',
      { class: 'tools' },
      recordings,
      cpus,
      button('\u2212', 'Zoom out', () => zoom(1 / 0.6)),
      button('+', 'Zoom in', () => zoom(0.6)),
      button('\u2190', 'Earlier', () => pan(-0.5)),
      button('\u2192', 'Later', () => pan(0.5)),
      button('All', 'The whole timeline', whole),
      range,
    ),
    stage,
    panel,
    el(
      'p',
      { class: 'about keys' },
      'Drag to move. With the focus on the timeline: the wheel, + and \u2212 zoom; \u2190 \u2192 move; n and p choose periods; \u2191 \u2193 choose lanes; 0 shows all.',
    ),
    el(
      'div',
      { class: 'behind' },
      ...[all.table('timeline')].flatMap((t) => (t ? [folded(t, t.title)] : [])),
    ),
  );

  return {
    element,
    draw(of, in_theme) {
      tables = of;
      theme = in_theme;
      if (rows().length === 0) window = firstWindow(tables.rows('timeline')) ?? window;
      fillChoices();
      drawNow();
    },
  };
}
