// SPDX-License-Identifier: GPL-2.0-only
// One bundle for both outlets: in a browser it fills the page; elsewhere it waits to be asked for charts.

import { list, svg } from './headless';
import { start } from './page/page';

Object.assign(globalThis, { idlewise: { svg, list } });
if (typeof document !== 'undefined') start();
