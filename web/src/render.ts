// SPDX-License-Identifier: GPL-2.0-only
// From a specification to a view. Expressions are interpreted, not compiled: nothing needs `eval`, and the page forbids it.

import { expressionInterpreter } from 'vega-interpreter';
import { Error as ErrorLevel, parse, View, type Spec as VegaSpec } from 'vega';
import { compile, type TopLevelSpec } from 'vega-lite';
import type { Spec } from './chart';

// What Vega-Lite warns of are specifications; ours are tested. Errors are thrown.
const quiet = {
  level() {
    return this;
  },
  error(...words: unknown[]) {
    throw new Error(words.map(String).join(' '));
  },
  warn() {
    return this;
  },
  info() {
    return this;
  },
  debug() {
    return this;
  },
};

/** A view that has not been run. Without an element it draws nothing and can be asked for its SVG. */
export function viewOf(spec: Spec, element: HTMLElement | null): View {
  // Vega-Lite writes into what it is given.
  const own = JSON.parse(JSON.stringify(spec)) as TopLevelSpec;
  const { spec: vega } = compile(own, { logger: quiet as never });
  const runtime = parse(vega as VegaSpec, undefined, { ast: true });
  const options = {
    renderer: element ? 'svg' : 'none',
    expr: expressionInterpreter,
    logLevel: ErrorLevel,
    hover: element !== null,
  };
  const view = new View(runtime, options as ConstructorParameters<typeof View>[1]);
  return element ? view.initialize(element) : view;
}
