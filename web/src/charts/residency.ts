// SPDX-License-Identifier: GPL-2.0-only
import type { Chart, Row, Spec } from '../chart';
import { distinct, grouped } from '../contract';
import { finite, labelRoom, partTitle, recordingsOf, room, stateScale } from '../chart';
import { INK, readable } from '../look';
import { quantity } from '../text';
import { least } from '../extremes';

type Residency = Row<'residency'>;

/** Rows of whole clusters: those that say so, else means over their CPUs. */
function ofClusters(rows: Residency[]): Residency[] {
  const whole = rows.filter((r) => r.cpu === null);
  if (whole.length > 0) return whole;
  const out: Residency[] = [];
  for (const group of grouped(rows, (r) =>
    JSON.stringify([r.recording, r.governor, r.cluster, r.state_index]),
  ).values()) {
    const known = group.map((r) => r.share_pct).filter(finite);
    const cpus = distinct(
      rows
        .filter(
          (r) =>
            r.recording === group[0]!.recording &&
            r.governor === group[0]!.governor &&
            r.cluster === group[0]!.cluster,
        )
        .map((r) => r.cpu),
    ).length;
    out.push({
      ...group[0]!,
      cpu: null,
      share_pct: known.length === 0 ? null : known.reduce((a, b) => a + b, 0) / cpus,
    });
  }
  return out;
}

/** Where each share begins in a stack of a hundred. */
function stacked(rows: Residency[]) {
  const out: (Residency & { from: number; to: number })[] = [];
  let at = 0;
  for (const row of [...rows].sort((a, b) => a.state_index - b.state_index)) {
    const share = finite(row.share_pct) ? row.share_pct : 0;
    out.push({ ...row, from: at, to: at + share });
    at += share;
  }
  return out;
}

export const residency: Chart = {
  name: 'residency',
  title: 'Residency in idle states, by cluster',
  about:
    'Share of time in each state; deeper states have the stronger colour. Where a report knows CPUs only, a cluster is the mean of its CPUs.',
  tables: ['residency'],
  draw(tables, look): Spec | null {
    const rows = ofClusters(tables.rows('residency')).filter((r) => finite(r.share_pct));
    if (rows.length === 0) return null;
    const ink = INK[look.theme];
    const states = stateScale(rows, look);
    const left = labelRoom(look, distinct(rows.map((r) => r.governor)));
    const width = room(look) - left - 14;
    const recordings = recordingsOf(rows);
    const clusters = distinct(rows.map((r) => r.cluster));
    const groups = [...grouped(rows, (r) => JSON.stringify([r.recording, r.cluster])).values()];
    const parts = groups.map((group, part) => {
      const governors = distinct(group.map((r) => r.governor));
      const cells = governors
        .flatMap((g) => stacked(group.filter((r) => r.governor === g)))
        .map((r) => ({
          governor: r.governor,
          from: r.from,
          to: r.to,
          middle: (r.from + r.to) / 2,
          label: states.label(r.state_index),
          share: quantity(r.share_pct, '%'),
          ink: readable(states.color(r.state_index)),
          inside: ((r.to - r.from) / 100) * width > 42 ? `${(r.share_pct as number).toFixed(1)} %` : '',
        }));
      const y = {
        field: 'governor',
        type: 'nominal',
        title: null,
        sort: governors,
        axis: { labelLimit: left - 10, minExtent: left, maxExtent: left, labelColor: ink.text },
      };
      const axis =
        part === groups.length - 1 ? { labelExpr: "format(datum.value, '~g') + ' %'", tickCount: 5 } : null;
      const x = {
        field: 'from',
        type: 'quantitative',
        title: null,
        scale: { domain: [0, 100], nice: false },
        axis,
      };
      const name = [
        recordings.title(group[0]!.recording),
        clusters.length > 1 || group[0]!.cluster !== '' ? group[0]!.cluster : '',
      ]
        .filter((t) => t !== '')
        .join(', ');
      return {
        width,
        height: { step: 22 },
        title: partTitle(look, name, width),
        layer: [
          {
            data: { values: cells },
            mark: { type: 'bar', height: { band: 0.74 }, stroke: ink.paper, strokeWidth: 1 },
            encoding: {
              y,
              x,
              x2: { field: 'to' },
              color: states.encoding,
              tooltip: [
                { field: 'governor', type: 'nominal' },
                { field: 'label', type: 'nominal', title: 'state' },
                { field: 'share', type: 'nominal', title: tables.label('residency', 'share_pct') },
              ],
            },
          },
          {
            data: { values: cells.filter((c) => c.inside !== '') },
            mark: { type: 'text', baseline: 'middle', fontSize: 10 },
            encoding: {
              y,
              x: { ...x, field: 'middle' },
              text: { field: 'inside', type: 'nominal' },
              color: { field: 'ink', type: 'nominal', scale: null, legend: null },
            },
          },
        ],
        resolve: { scale: { color: 'independent' } },
      };
    });
    return parts.length === 1 ? parts[0]! : { vconcat: withOneLegend(parts), spacing: 14 };
  },
};

/** The legend above the first part serves them all. */
function withOneLegend(parts: Spec[]): Spec[] {
  return parts.map((part, i) => {
    if (i === 0) return part;
    const layers = (part['layer'] as Spec[]).map((layer) => {
      const encoding = layer['encoding'] as Spec;
      const color = encoding['color'] as Spec;
      return { ...layer, encoding: { ...encoding, color: { ...color, legend: null } } };
    });
    return { ...part, layer: layers };
  });
}

export const residencyCpu: Chart = {
  name: 'residency-cpu',
  title: 'Residency in idle states, by CPU',
  about:
    'One column is one CPU, in the order of clusters. Share of time in each state; deeper states have the stronger colour.',
  tables: ['residency'],
  draw(tables, look): Spec | null {
    const rows = tables.rows('residency').filter((r) => r.cpu !== null && finite(r.share_pct));
    if (distinct(rows.map((r) => `${r.recording}\0${r.cpu}`)).length < 2) return null;
    const ink = INK[look.theme];
    const states = stateScale(rows, look);
    const recordings = recordingsOf(rows);
    const width = room(look) - 40 - 10;
    const parts: Spec[] = [];
    for (const name of recordings.names) {
      const mine = rows.filter((r) => r.recording === name);
      const clusters = distinct(mine.map((r) => r.cluster));
      const order = new Map(clusters.map((c, i) => [c, i]));
      const cpus = distinct(
        [...mine]
          .sort((a, b) => order.get(a.cluster)! - order.get(b.cluster)! || a.cpu! - b.cpu!)
          .map((r) => r.cpu as number),
      );
      const governors = distinct(mine.map((r) => r.governor));
      // A cluster begins where its first CPU stands.
      const starts = clusters.map((c) => ({
        cluster: c,
        cpu: least(mine.filter((r) => r.cluster === c).map((r) => cpus.indexOf(r.cpu as number))),
      }));
      governors.forEach((governor, g) => {
        const cells = [
          ...grouped(
            mine.filter((r) => r.governor === governor),
            (r) => String(r.cpu),
          ).values(),
        ]
          .flatMap(stacked)
          .map((r) => {
            const at = cpus.indexOf(r.cpu as number);
            return {
              at,
              end: at + 1,
              cpu: r.cpu,
              from: r.from,
              to: r.to,
              label: states.label(r.state_index),
              share: quantity(r.share_pct, '%'),
              cluster: r.cluster,
            };
          });
        const last = g === governors.length - 1;
        const every = Math.max(1, Math.ceil((cpus.length * 26) / width));
        const x = {
          field: 'at',
          type: 'quantitative',
          title: null,
          scale: { domain: [0, cpus.length], nice: false },
          axis: null,
        };
        const y = {
          field: 'from',
          type: 'quantitative',
          title: null,
          scale: { domain: [0, 100], nice: false },
          axis: {
            values: [0, 50, 100],
            labelExpr: "datum.value + ' %'",
            minExtent: 40,
            maxExtent: 40,
            grid: false,
          },
        };
        const color = parts.length === 0 ? states.encoding : { ...states.encoding, legend: null };
        const layer: Spec[] = [
          {
            data: { values: cells },
            mark: { type: 'rect', stroke: ink.paper, strokeWidth: width / cpus.length > 6 ? 1 : 0 },
            encoding: {
              x,
              x2: { field: 'end' },
              y,
              y2: { field: 'to' },
              color,
              tooltip: [
                { field: 'cpu', type: 'nominal', title: 'CPU' },
                { field: 'cluster', type: 'nominal' },
                { field: 'label', type: 'nominal', title: 'state' },
                { field: 'share', type: 'nominal', title: tables.label('residency', 'share_pct') },
              ],
            },
          },
        ];
        if (starts.length > 1)
          layer.push({
            data: { values: starts.filter((s) => s.cpu > 0) },
            mark: { type: 'rule', color: ink.text, strokeWidth: 1 },
            encoding: { x: { ...x, field: 'cpu' } },
          });
        if (last) {
          layer.push({
            data: {
              values: cpus
                .map((cpu, i) => ({ i: i + 0.5, cpu: String(cpu) }))
                .filter((_, i) => i % every === 0),
            },
            mark: { type: 'text', y: 'height', dy: 9, baseline: 'middle', color: ink.quiet, fontSize: 10 },
            encoding: { x: { ...x, field: 'i' }, text: { field: 'cpu', type: 'nominal' } },
          });
          layer.push({
            data: { values: starts },
            mark: {
              type: 'text',
              y: 'height',
              dy: 23,
              baseline: 'middle',
              align: 'left',
              color: ink.quiet,
              fontSize: 11,
            },
            encoding: { x: { ...x, field: 'cpu' }, text: { field: 'cluster', type: 'nominal' } },
          });
        }
        const label = [recordings.title(name), governor].filter((t) => t !== '').join(': ');
        parts.push({
          width,
          height: 52,
          title: partTitle(look, label, width),
          layer,
          resolve: { scale: { color: 'independent' } },
        });
      });
    }
    return { vconcat: parts, spacing: 8 };
  },
};
