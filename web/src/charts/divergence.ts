// SPDX-License-Identifier: GPL-2.0-only
import type { Chart, Spec } from '../chart';
import { grouped } from '../contract';
import { countFormat, finite, NS_LABEL, recordingsOf, room } from '../chart';
import { fitted, INK } from '../look';
import { number, signed } from '../text';
import { greatest, least } from '../extremes';

interface Line {
  key: string;
  text: string;
  head: boolean;
  count: number | null;
  energy: number | null;
  latency: number | null;
  count_text: string;
  energy_text: string;
  latency_text: string;
}

export const divergence: Chart = {
  name: 'divergence',
  title: 'Where the governors diverge',
  about:
    'At how many wake events the choices differ from those of the other governor, and what the difference costs in energy and in latency. To the left of zero is better than the other governor.',
  tables: ['divergence'],
  draw(tables, look): Spec | null {
    const rows = tables.rows('divergence');
    if (rows.length === 0) return null;
    const ink = INK[look.theme];
    const recordings = recordingsOf(rows);
    const unit = tables.unit('divergence', 'energy_change');
    const lines: Line[] = [];
    for (const group of grouped(rows, (r) => JSON.stringify([r.recording, r.governor, r.against])).values()) {
      const { recording, governor, against } = group[0]!;
      const of = recordings.title(recording);
      const none = {
        count: null,
        energy: null,
        latency: null,
        count_text: '',
        energy_text: '',
        latency_text: '',
      };
      lines.push({
        key: `${lines.length}`,
        text: `${governor} against ${against}${of === '' ? '' : `, ${of}`}`,
        head: true,
        ...none,
      });
      for (const r of group)
        lines.push({
          key: `${lines.length}`,
          text: r.cause,
          head: false,
          count: r.count,
          energy: r.energy_change,
          latency: r.latency_change_ns,
          count_text: number(r.count),
          energy_text: finite(r.energy_change) ? signed(r.energy_change, unit) : '?',
          latency_text: finite(r.latency_change_ns) ? signed(r.latency_change_ns, 'ns') : '?',
        });
    }
    const whole = room(look);
    const causes = lines.filter((l) => !l.head);
    const left = Math.ceil(Math.min(whole * 0.3, greatest(causes.map((l) => look.measure(l.text, 11))) + 18));
    const gap = look.width < 500 ? 14 : 22;
    // A difference of which nothing is known has no panel.
    const panels = (['count', 'energy', 'latency'] as const).filter((field) =>
      causes.some((l) => finite(l[field])),
    );
    if (panels.length === 0) return null;
    const width = Math.floor((whole - left - panels.length * gap - 12) / panels.length);
    const keys = lines.map((l) => l.key);
    const y = { field: 'key', type: 'nominal', sort: keys, scale: { domain: keys }, axis: null };
    const step = { step: 19 };
    const heads = lines
      .filter((l) => l.head)
      .map((l) => ({ ...l, text: fitted(look, l.text, 11, whole, true) }));
    const labels = causes.map((l) => ({ ...l, text: fitted(look, l.text, 11, left - 10) }));
    // Heads may be wider than the labels' part: they continue over the empty rows to the right.
    const names: Spec = {
      width: left,
      height: step,
      view: { clip: false },
      layer: [
        { data: { values: lines }, mark: { type: 'text', opacity: 0 }, encoding: { y, text: { value: '' } } },
        {
          data: { values: heads },
          mark: { type: 'text', align: 'left', x: 0, baseline: 'middle', fontWeight: 'bold' },
          encoding: { y, text: { field: 'text', type: 'nominal' } },
        },
        {
          data: { values: labels },
          mark: { type: 'text', align: 'left', x: 8, baseline: 'middle' },
          encoding: { y, text: { field: 'text', type: 'nominal' } },
        },
      ],
    };
    const panel = (field: 'count' | 'energy' | 'latency', title: string, signedValues: boolean): Spec => {
      const known = causes.filter((l) => finite(l[field]));
      const values = known.map((l) => l[field] as number);
      const high = greatest(values, 0);
      const low = least(values, 0);
      const span = high - low || 1;
      const domain = [low < 0 ? low - span * 0.04 : 0, high > 0 ? high + span * 0.04 : span * 0.04];
      const x = {
        field,
        type: 'quantitative',
        title: null,
        scale: { domain, nice: false },
        axis: {
          orient: 'top',
          title,
          titleAnchor: 'start',
          grid: true,
          tickCount: Math.max(2, Math.floor(width / 45)),
          labelFlush: true,
          labelOverlap: true,
          ...(field === 'latency'
            ? { labelExpr: NS_LABEL }
            : { format: field === 'count' ? countFormat(high) : '~g' }),
        },
      };
      const better = { condition: { test: `datum.${field} <= 0`, value: ink.shallow }, value: ink.deep };
      return {
        width,
        height: step,
        layer: [
          {
            data: { values: known },
            mark: { type: 'bar', height: { band: 0.6 } },
            encoding: {
              y,
              x,
              color: signedValues ? better : { value: ink.quiet },
              tooltip: [
                { field: 'text', type: 'nominal', title: 'choices' },
                { field: 'count_text', type: 'nominal', title: 'wake events' },
                { field: 'energy_text', type: 'nominal', title: 'energy' },
                { field: 'latency_text', type: 'nominal', title: 'latency' },
              ],
            },
          },
          {
            data: { values: causes.filter((l) => !finite(l[field])) },
            mark: { type: 'text', align: 'left', dx: 4, baseline: 'middle', text: '?', color: ink.quiet },
            encoding: { y, x: { datum: 0 } },
          },
          {
            data: { values: causes },
            mark: { type: 'tick', orient: 'vertical', thickness: 1, size: 19, color: ink.quiet },
            encoding: { y, x: { datum: 0 } },
          },
        ],
      };
    };
    const titles = {
      count: 'wake events',
      energy: unit === '' ? 'energy' : `energy [${unit}]`,
      latency: 'latency',
    };
    return {
      hconcat: [names, ...panels.map((field) => panel(field, titles[field], field !== 'count'))],
      spacing: gap,
      bounds: 'flush',
      resolve: { scale: { y: 'independent' } },
    };
  },
};
