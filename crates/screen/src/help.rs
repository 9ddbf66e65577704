// SPDX-License-Identifier: GPL-2.0-only

/// Keys and what they do, for the help.
pub(crate) const KEYS: [(&str, &str); 9] = [
    ("q  Esc  Ctrl-C", "quit"),
    ("Space  f", "freeze, without reading; go on"),
    ("g", "rows: CPUs, clusters, the machine"),
    ("s  S", "sort by the next column, the one before"),
    ("r", "reverse the order"),
    ("+  -", "longer, shorter interval"),
    ("Up Down PgUp PgDn", "scroll; also k j, Home End"),
    ("n", "back to the order of CPUs"),
    ("h  ?", "this help"),
];
