// SPDX-License-Identifier: GPL-2.0-only
// All charts, in the order of the page. crates/chart/src/charts.rs lists the same names for the command line.

import type { Chart } from './chart';
import { changes } from './charts/changes';
import { divergence } from './charts/divergence';
import { front, frontP99 } from './charts/front';
import { heat } from './charts/heat';
import { latency } from './charts/latency';
import { measures } from './charts/measures';
import { misses } from './charts/misses';
import { parallel } from './charts/parallel';
import { parameters } from './charts/parameters';
import { periods } from './charts/periods';
import { points } from './charts/points';
import { published } from './charts/published';
import { residency, residencyCpu } from './charts/residency';
import { response } from './charts/response';
import { settings } from './charts/settings';
import { timeline } from './charts/timeline';

export const CHARTS: readonly Chart[] = [
  measures,
  front,
  frontP99,
  misses,
  residency,
  residencyCpu,
  periods,
  latency,
  divergence,
  timeline,
  response,
  changes,
  published,
  settings,
  parameters,
  heat,
  parallel,
  points,
];
