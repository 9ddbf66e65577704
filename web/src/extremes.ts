// SPDX-License-Identifier: GPL-2.0-only

/** The least of many values: a call of Math.min takes no more than an engine allows arguments. */
export function least(values: Iterable<number>, among = Infinity): number {
  let out = among;
  for (const v of values) if (v < out) out = v;
  return out;
}

/** The greatest of many values. */
export function greatest(values: Iterable<number>, among = -Infinity): number {
  let out = among;
  for (const v of values) if (v > out) out = v;
  return out;
}
