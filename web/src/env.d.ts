// SPDX-License-Identifier: GPL-2.0-only
declare module 'virtual:widths' {
  const widths: { em: number; other: number; regular: Record<string, number>; bold: Record<string, number> };
  export default widths;
}
declare module 'vega-interpreter' {
  export const expressionInterpreter: unknown;
}
declare module 'vega-scenegraph' {
  export const textMetrics: { width(item: object, text: unknown): number };
}
