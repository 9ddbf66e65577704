// SPDX-License-Identifier: GPL-2.0-only
// Numbers and names as people read them, in the page and in charts alike.

// Controls, and what hides text or turns its direction round; crates/report/src/escape.rs has the same list.
const OBEYED =
  // eslint-disable-next-line no-control-regex
  /[\u0000-\u001f\u007f-\u009f\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ufffe\uffff]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]|\ud82f[\udca0-\udca3]|[\udb40-\udb43][\udc00-\udfff]/g;

/** Foreign text, shown and not obeyed: `\u001b`. A line end stays; outside of reasons and notes it is a space. */
export function shown(text: string): string {
  return text.replace(OBEYED, (c) =>
    c === '\n'
      ? c
      : c === '\t'
        ? ' '
        : [...Array(c.length).keys()]
            .map((i) => '\\u' + c.charCodeAt(i).toString(16).padStart(4, '0'))
            .join(''),
  );
}

export const UNKNOWN = '?';
const MINUS = '\u2212';

/** Four digits that say something; whole numbers whole. */
export function number(value: number | null): string {
  if (value === null || !Number.isFinite(value)) return UNKNOWN;
  const size = Math.abs(value);
  if (Number.isInteger(value) && size < 1e15) return minus(String(value));
  if (size !== 0 && (size < 1e-4 || size >= 1e15)) return minus(value.toExponential(2));
  // Four digits below a thousand, as the command prints energies.
  const decimals =
    size >= 100 ? 1 : size >= 10 ? 2 : size >= 1 ? 3 : 3 - Math.floor(Math.log10(size || 1) + 1);
  return minus(value.toFixed(Math.min(decimals, 8)));
}

function minus(text: string): string {
  return text.startsWith('-') ? MINUS + text.slice(1) : text;
}

/** Nanoseconds in the unit that suits them: `160 µs`. */
export function duration(ns: number | null): string {
  if (ns === null || !Number.isFinite(ns)) return UNKNOWN;
  const size = Math.abs(ns);
  for (const [unit, name] of [
    [1e9, 's'],
    [1e6, 'ms'],
    [1e3, 'µs'],
  ] as const)
    if (size >= unit) return `${minus(digits(ns / unit))} ${name}`;
  return `${number(ns)} ns`;
}

// Three digits, never as an exponent: 1234 s stays 1234 s.
function digits(value: number): string {
  const size = Math.abs(value);
  return value.toFixed(size >= 100 ? 0 : size >= 10 ? 1 : 2);
}

/** A value with its unit. */
export function quantity(value: number | null, unit: string): string {
  if (value === null) return UNKNOWN;
  if (unit === 'ns') return duration(value);
  const text = unit === '%' || unit === 'pp' ? minus(value.toFixed(2)) : number(value);
  return unit === '' ? text : `${text} ${unit}`;
}

/** A difference with its sign. */
export function signed(value: number | null, unit: string): string {
  if (value === null) return UNKNOWN;
  const text =
    unit === 'ns' ? duration(value) : unit === '%' || unit === 'pp' ? minus(value.toFixed(2)) : number(value);
  const tail = unit === '' || unit === 'ns' ? '' : ` ${unit}`;
  return `${value > 0 ? '+' : ''}${text}${tail}`;
}

/** What a column's head says of its direction. */
export function betterWord(better: 'less' | 'more' | null): string {
  return better === 'less' ? 'less is better' : better === 'more' ? 'more is better' : '';
}
