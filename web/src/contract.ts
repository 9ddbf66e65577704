// SPDX-License-Identifier: GPL-2.0-only
// What a report gives to the page and to the charts: idlewise.page/1. The Rust side is crates/chart/src/contract.rs.

import { shown } from './text';

export type Cell = string | number | boolean | null;

export interface Column {
  name: string;
  label: string;
  type: 'text' | 'integer' | 'number';
  unit: string;
  better: 'less' | 'more' | null;
}

export interface Table {
  name: string;
  title: string;
  columns: Column[];
  rows: Cell[][];
}

export interface Page {
  schema: 'idlewise.page/1';
  kind: 'replay' | 'compare' | 'simulate' | 'ab' | 'advise' | 'boot' | 'reproduce' | 'diff' | 'sweep';
  title: string;
  trust: { grade: string; why: string };
  verdicts: string[];
  command: string[];
  version: string;
  hashes: { name: string; hash: string }[];
  warnings: string[];
  notes: { label: string; text: string }[];
  tables: Table[];
  sampled: string[];
  report: unknown;
}

export type Role = 'baseline' | 'governor' | 'bound';

// The rows of the tables that charts read. A number may be null everywhere: it is not known.
export interface Rows {
  measures: {
    recording: string;
    governor: string;
    role: Role;
    measure: string;
    label: string;
    unit: string;
    better: 'less' | 'more' | null;
    value: number | null;
    baseline_value: number | null;
    change: number | null;
    change_unit: string;
    shown: 'change' | 'nothing';
  };
  front: {
    recording: string;
    governor: string;
    role: Role;
    energy: number | null;
    energy_unit: string;
    latency_mean_ns: number | null;
    latency_p99_ns: number | null;
  };
  misses: {
    recording: string;
    governor: string;
    too_deep_pct: number | null;
    too_shallow_pct: number | null;
  };
  residency: {
    recording: string;
    governor: string;
    cluster: string;
    cpu: number | null;
    state: string;
    state_index: number;
    share_pct: number | null;
  };
  periods: { recording: string; cluster: string; from_ns: number; to_ns: number; count: number };
  targets: { cluster: string; state: string; state_index: number; target_residency_ns: number };
  latency: { recording: string; governor: string; latency_ns: number; share: number };
  divergence: {
    recording: string;
    governor: string;
    against: string;
    cause: string;
    count: number;
    energy_change: number | null;
    latency_change_ns: number | null;
  };
  timeline: {
    recording: string;
    cpu: number;
    lane: string;
    governor: string;
    start_ns: number;
    end_ns: number;
    state: string;
    state_index: number;
    verdict: string;
    wake: string;
    why: string;
  };
  response: { subject: string; kind: 'step' | 'ramp'; time_ns: number; value: number | null; unit: string };
  points: { series: string; group: string; x: number | null; y: number | null; unit: string };
  medians: {
    series: string;
    group: string;
    median: number | null;
    low: number | null;
    high: number | null;
    unit: string;
  };
  changes: {
    recording: string;
    series: string;
    group: string;
    change: number | null;
    low: number | null;
    high: number | null;
    margin: number | null;
    unit: string;
    better: 'less' | 'more' | null;
    verdict: string | null;
  };
  published: {
    recording: string;
    row: string;
    column: string;
    unit: string;
    published: number | null;
    noise: number | null;
    ours: number | null;
    low: number | null;
    high: number | null;
    stands: string;
    called: string;
  };
  swept_settings: {
    setting: string;
    governor: string;
    role: Role;
    on_front: 'yes' | 'no';
    measure: string;
    label: string;
    unit: string;
    change: number | null;
    /** Place among the measures of the front, from 1; 0 for none. */
    place: number;
  };
  setting_values: { setting: string; governor: string; parameter: string; value: string; order: number };
}

export type TableName = keyof Rows;

/** The page with every text made visible: controls and characters that hide or turn text become `\u....`. */
export function readPage(json: string): Page {
  const page = JSON.parse(json) as Page;
  if (page.schema !== 'idlewise.page/1') throw new Error(`not a page of idlewise: ${String(page.schema)}`);
  const { report, ...rest } = page;
  return { ...(deepShown(rest) as Omit<Page, 'report'>), report };
}

function deepShown(value: unknown): unknown {
  if (typeof value === 'string') return shown(value);
  if (Array.isArray(value)) return value.map(deepShown);
  if (value !== null && typeof value === 'object')
    return Object.fromEntries(Object.entries(value).map(([k, v]) => [k, deepShown(v)]));
  return value;
}

/** Which part of a report is wanted: null for all of it. */
export interface Choice {
  recording: string | null;
  governors: ReadonlySet<string> | null;
}

/** The tables of a report, as rows with names. */
export class Tables {
  readonly #page: Page;
  readonly #choice: Choice;
  readonly #rows = new Map<string, object[]>();

  constructor(page: Page, choice: Choice = { recording: null, governors: null }) {
    this.#page = page;
    this.#choice = choice;
  }

  table(name: string): Table | undefined {
    return this.#page.tables.find((t) => t.name === name);
  }

  has(name: TableName): boolean {
    return (this.table(name)?.rows.length ?? 0) > 0;
  }

  /** How a table calls a column. */
  label(name: TableName, column: string): string {
    return this.table(name)?.columns.find((c) => c.name === column)?.label ?? column;
  }

  unit(name: TableName, column: string): string {
    return this.table(name)?.columns.find((c) => c.name === column)?.unit ?? '';
  }

  rows<N extends TableName>(name: N): Rows[N][] {
    let rows = this.#rows.get(name) as Rows[N][] | undefined;
    if (!rows) {
      const table = this.table(name);
      const { recording, governors } = this.#choice;
      rows = [];
      for (const cells of table?.rows ?? []) {
        const row: Record<string, Cell> = {};
        table?.columns.forEach((c, i) => (row[c.name] = cells[i] ?? null));
        if (recording !== null && 'recording' in row && row['recording'] !== recording) continue;
        // The recording's own lane of a timeline has no governor.
        if (
          governors &&
          'governor' in row &&
          row['governor'] !== '' &&
          !governors.has(String(row['governor']))
        )
          continue;
        // A group may be a governor or an idle state.
        if (governors && this.#isGovernor(row['group']) && !governors.has(String(row['group']))) continue;
        rows.push(row as unknown as Rows[N]);
      }
      this.#rows.set(name, rows);
    }
    return rows;
  }

  #names: Set<Cell> | null = null;

  #isGovernor(name: Cell | undefined): boolean {
    this.#names ??= new Set(this.governors().map((g) => g.name));
    return name !== undefined && this.#names.has(name);
  }

  /** What the report calls its recordings, its governors. */
  called(name: 'recording' | 'governor'): string {
    for (const table of this.#page.tables)
      for (const column of table.columns) if (column.name === name) return column.label;
    return name;
  }

  /** All governors of the report in its order, whatever is chosen, with their roles. */
  governors(): { name: string; role: Role }[] {
    const all = new Map<string, Role>();
    for (const name of [
      'measures',
      'front',
      'misses',
      'residency',
      'latency',
      'divergence',
      'timeline',
    ] as const) {
      const table = this.table(name);
      if (!table) continue;
      const governor = table.columns.findIndex((c) => c.name === 'governor');
      const role = table.columns.findIndex((c) => c.name === 'role');
      if (governor < 0) continue;
      for (const row of table.rows) {
        const id = row[governor];
        if (typeof id === 'string' && id !== '' && !all.has(id))
          all.set(id, ((role >= 0 ? row[role] : null) as Role | null) ?? 'governor');
      }
    }
    return [...all].map(([name, role]) => ({ name, role }));
  }

  recordings(): string[] {
    const all = new Set<string>();
    for (const table of this.#page.tables) {
      const at = table.columns.findIndex((c) => c.name === 'recording');
      if (at >= 0) for (const row of table.rows) all.add(String(row[at] ?? ''));
    }
    return [...all];
  }
}

/** The values in the order in which they come. */
export function distinct<T>(values: Iterable<T>): T[] {
  return [...new Set(values)];
}

/** Rows by a key, in the order of the keys' first rows. */
export function grouped<T>(rows: T[], key: (row: T) => string): Map<string, T[]> {
  const out = new Map<string, T[]>();
  for (const row of rows) {
    const k = key(row);
    const group = out.get(k);
    if (group) group.push(row);
    else out.set(k, [row]);
  }
  return out;
}
