// SPDX-License-Identifier: GPL-2.0-only
//! Keys of tasks and phases that are not events.

/// What a task may have beside events.
pub(super) const TASK: [&str; 18] = [
    "instance",
    "delay",
    "phases",
    "loop",
    "policy",
    "priority",
    "dl-runtime",
    "dl-period",
    "dl-deadline",
    "period",
    "deadline",
    "util_min",
    "util_max",
    "cpus",
    "taskgroup",
    "membind_nodes",
    "nodes_membind",
    "dl-reclaim",
];
