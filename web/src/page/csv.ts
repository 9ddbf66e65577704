// SPDX-License-Identifier: GPL-2.0-only
import type { Cell, Table } from '../contract';

// A spreadsheet computes what begins like this; an apostrophe keeps it text, as in crates/report/src/escape.rs.
function safe(text: string): string {
  const computed =
    /^[=@]/.test(text) || (/^[+-]/.test(text) && Number.isNaN(Number(text)) && !/^-+$/.test(text));
  return computed ? `'${text}` : text;
}

function cell(value: Cell): string {
  if (value === null) return '?';
  if (typeof value !== 'string') return String(value);
  const text = safe(value);
  return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** The table with its exact numbers; unknown is `?`. */
export function csvOf(table: Table): string {
  const lines = [table.columns.map((c) => c.name), ...table.rows.map((row) => row)];
  return lines.map((line) => line.map(cell).join(',')).join('\r\n') + '\r\n';
}
