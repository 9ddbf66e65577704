// SPDX-License-Identifier: GPL-2.0-only
// The answer as a table: a governor a row, a measure a column, the best marked.

import { bestOf } from '../charts/measures';
import type { Rows, Tables } from '../contract';
import { distinct, grouped } from '../contract';
import { duration, number, signed, UNKNOWN } from '../text';
import { csvButton, sortable, type Head } from './table';
import { el, unseen } from './dom';

type Measure = Rows['measures'];

interface Line {
  recording: string;
  governor: string;
  role: string;
  cells: Map<string, Measure>;
}

function value(row: Measure): string {
  return row.unit === 'ns'
    ? duration(row.value)
    : row.unit === '%' && row.value !== null
      ? row.value.toFixed(2)
      : number(row.value);
}

export function comparison(tables: Tables): HTMLElement | null {
  const rows = tables.rows('measures');
  const table = tables.table('measures');
  if (rows.length === 0 || !table) return null;
  const best = bestOf(rows);
  const several = distinct(rows.map((r) => r.recording)).length > 1;
  const lines: Line[] = [...grouped(rows, (r) => JSON.stringify([r.recording, r.governor])).values()].map(
    (of) => ({
      recording: of[0]!.recording,
      governor: of[0]!.governor,
      role: of[0]!.role,
      cells: new Map(of.map((r) => [r.measure, r])),
    }),
  );
  const governor: Head<Line> = {
    label: tables.label('measures', 'governor'),
    unit: '',
    better: null,
    numeric: false,
    key: (l) => l.governor,
    fill: (l, cell) => {
      cell.title = l.governor;
      cell.append(
        l.governor,
        l.role === 'governor' ? '' : el('span', { class: 'role' }, l.role === 'bound' ? 'bound' : 'baseline'),
      );
    },
  };
  const recording: Head<Line> = {
    label: tables.label('measures', 'recording'),
    unit: '',
    better: null,
    numeric: false,
    key: (l) => l.recording,
    fill: (l, cell) => {
      cell.title = l.recording;
      cell.append(l.recording);
    },
  };
  const measures = distinct(rows.map((r) => r.measure)).map((m): Head<Line> => {
    const any = rows.find((r) => r.measure === m)!;
    return {
      label: any.label,
      unit: any.unit,
      better: any.better,
      numeric: true,
      key: (l) => l.cells.get(m)?.value ?? null,
      fill: (l, cell) => {
        const row = l.cells.get(m);
        cell.dataset['measure'] = m;
        cell.dataset['value'] = row?.value === null || row === undefined ? '?' : String(row.value);
        if (!row || row.value === null) {
          // What a governor does not have is not the same as what nobody knows.
          cell.append(row ? UNKNOWN : '\u2013');
          return;
        }
        cell.title = String(row.value);
        const is_best = best.has(row);
        if (is_best) cell.classList.add('best');
        cell.append(el('span', { class: 'value' }, value(row)), is_best ? unseen(' (best)') : '');
        if (row.role !== 'baseline' && row.change !== null)
          cell.append(
            el('small', { 'data-change': String(row.change) }, signed(row.change, row.change_unit)),
          );
      },
    };
  });
  const baseline = distinct(lines.filter((l) => l.role === 'baseline').map((l) => l.governor)).join(', ');
  const box = sortable(
    'measures',
    'The comparison',
    several ? [governor, recording, ...measures] : [governor, ...measures],
    lines,
    (l, tr) => {
      tr.className = l.role;
    },
  );
  const legend = [
    '\u2193 less is better, \u2191 more is better.',
    'Bold with a dot: the best.',
    baseline === '' ? '' : `Small: the change against ${baseline}.`,
    lines.some((l) => l.role === 'bound') ? 'A bound does not compete: it knows the future.' : '',
    rows.some((r) => r.value === null) ? '?: not known.' : '',
  ]
    .filter((t) => t !== '')
    .join(' ');
  return el('div', { class: 'comparison' }, box, el('p', { class: 'key' }, legend, ' ', csvButton(table)));
}
