// SPDX-License-Identifier: GPL-2.0-only
// Tables that sort: a column's head is a button.

import type { Cell, Column, Table } from '../contract';
import { betterWord, number, quantity, UNKNOWN } from '../text';
import { csvOf } from './csv';
import { download, el, fileName, unseen } from './dom';

const FIRST_ROWS = 60;
const MORE_ROWS = 500;

/** A head, and how a row is sorted by it and shown. */
export interface Head<R> {
  label: string;
  unit: string;
  better: 'less' | 'more' | null;
  numeric: boolean;
  key(row: R): Cell;
  fill(row: R, cell: HTMLElement): void;
}

function compare(a: Cell, b: Cell): number {
  if (typeof a === 'number' && typeof b === 'number') return a - b;
  return String(a) < String(b) ? -1 : String(a) > String(b) ? 1 : 0;
}

/** Rows under heads. The first column names the row. Unknown sorts last in both directions. */
export function sortable<R>(
  name: string,
  title: string,
  heads: Head<R>[],
  rows: R[],
  mark?: (row: R, tr: HTMLElement) => void,
): HTMLElement {
  let order = rows;
  let by = -1;
  let down = false;
  let limit = FIRST_ROWS;
  const body = el('tbody');
  const buttons: HTMLElement[] = [];
  const more = el('button', {
    type: 'button',
    class: 'quiet',
    click: () => {
      limit += MORE_ROWS;
      fill();
    },
  });

  function fill(): void {
    body.replaceChildren(
      ...order.slice(0, limit).map((row) => {
        const tr = el('tr');
        heads.forEach((head, i) => {
          const td = i === 0 ? el('th', { scope: 'row' }) : el('td', head.numeric ? { class: 'n' } : {});
          head.fill(row, td);
          tr.append(td);
        });
        mark?.(row, tr);
        return tr;
      }),
    );
    const left = order.length - limit;
    more.hidden = left <= 0;
    more.textContent = `${Math.min(left, MORE_ROWS)} more of ${order.length} rows`;
  }

  const headRow = el(
    'tr',
    {},
    ...heads.map((head, i) => {
      const sort = () => {
        // Better first, then worse first, then as it was.
        const firstDown = head.better === 'more';
        if (by !== i) {
          by = i;
          down = firstDown;
        } else if (down === firstDown) down = !firstDown;
        else by = -1;
        order =
          by < 0
            ? rows
            : [...rows].sort((a, b) => {
                const [x, y] = [head.key(a), head.key(b)];
                if (x === null || y === null) return x === y ? 0 : x === null ? 1 : -1;
                return down ? compare(y, x) : compare(x, y);
              });
        heads.forEach((_, k) => {
          const th = buttons[k]?.parentElement;
          if (k === by) th?.setAttribute('aria-sort', down ? 'descending' : 'ascending');
          else th?.removeAttribute('aria-sort');
        });
        fill();
      };
      const arrow = head.better === 'less' ? '\u2193' : head.better === 'more' ? '\u2191' : '';
      const button = el(
        'button',
        { type: 'button', click: sort, title: betterWord(head.better) || undefined },
        el('span', { class: 'label' }, head.label),
        head.unit === '' || head.unit === 'ns' ? null : el('span', { class: 'unit' }, ` [${head.unit}]`),
        arrow === '' ? null : el('span', { class: 'better', 'aria-hidden': 'true' }, ` ${arrow}`),
        head.better ? unseen(`, ${betterWord(head.better)}`) : null,
        el('span', { class: 'sorted', 'aria-hidden': 'true' }),
      );
      buttons.push(button);
      return el('th', { scope: 'col', ...(head.numeric ? { class: 'n' } : {}) }, button);
    }),
  );
  fill();
  return el(
    'div',
    {},
    el(
      'div',
      { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': title },
      el(
        'table',
        { 'data-table': name },
        el('caption', { class: 'unseen' }, title),
        el('thead', {}, headRow),
        body,
      ),
    ),
    more,
  );
}

/** A cell as people read it. */
export function shownCell(value: Cell, column: Column): string {
  if (value === null) return UNKNOWN;
  if (typeof value === 'number') return column.unit === 'ns' ? quantity(value, 'ns') : number(value);
  return String(value);
}

function heads(table: Table): Head<Cell[]>[] {
  return table.columns.map((column, i) => ({
    label: column.label,
    unit: column.unit,
    better: column.better,
    numeric: column.type !== 'text',
    key: (row) => row[i] ?? null,
    fill: (row, cell) => {
      const value = row[i] ?? null;
      cell.textContent = shownCell(value, column);
      if (column.name === 'grade') cell.classList.add('grade', String(value).replaceAll(' ', '-'));
      if (typeof value === 'number') cell.dataset['value'] = cell.title = String(value);
      else if (value === null) cell.dataset['value'] = '?';
    },
  }));
}

/** The button that saves a table. */
export function csvButton(table: Table): HTMLElement {
  const save = () => download(`${fileName(table.name)}.csv`, 'text/csv;charset=utf-8', csvOf(table));
  return el(
    'button',
    { type: 'button', class: 'quiet', click: save, 'data-csv': table.name },
    'Download CSV',
    unseen(` of ${table.title}`),
  );
}

/** A table that is built when it is opened. */
export function folded(table: Table, summary: string): HTMLElement {
  const content = el('div');
  const count = `${table.rows.length} ${table.rows.length === 1 ? 'row' : 'rows'}`;
  const details = el(
    'details',
    { class: 'table', 'data-for': table.name },
    el('summary', {}, summary, el('span', { class: 'count' }, ` ${count}`)),
    content,
  );
  details.addEventListener('toggle', () => {
    if (details.open && !content.hasChildNodes())
      content.append(sortable(table.name, table.title, heads(table), table.rows), csvButton(table));
  });
  return details;
}

/** A table that is shown as it is. */
export function plain(table: Table): HTMLElement {
  return el(
    'div',
    { class: 'plain' },
    sortable(table.name, table.title, heads(table), table.rows),
    csvButton(table),
  );
}
