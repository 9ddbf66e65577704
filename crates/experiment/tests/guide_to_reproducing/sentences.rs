// SPDX-License-Identifier: GPL-2.0-only

use super::Copied::{self, Change, Left, Ours};

/// A row of the table of patches: reads a second of the three devices.
macro_rules! reads {
    ($says:literal, $column:literal) => {
        (
            "rk3399-patches",
            $says,
            &[
                Ours("nvme0n1", $column, 1.0, 0),
                Ours("mmcblk2", $column, 1.0, 0),
                Ours("mmcblk1", $column, 1.0, 0),
            ],
        )
    };
}

/// Parts of sentences of the guide, by the experiment that they tell of; each `{}` is a number, in this order.
pub(crate) const SENTENCES: &[(&str, &str, &[Copied])] = &[
    (
        "pelt-times",
        "In real time it is {}, {} and {} ms with PELT of 4.13 and later, {}, {} and {} ms with that of 4.8.",
        &[
            Ours("rise to 80 %", "4.13 on, updates every ms", 1.0, 0),
            Ours("rise to 95 %", "4.13 on, updates every ms", 1.0, 0),
            Ours("decay to zero", "4.13 on, updates every ms", 1.0, 0),
            Ours("rise to 80 %", "4.8, updates every ms", 1.0, 0),
            Ours("rise to 95 %", "4.8, updates every ms", 1.0, 0),
            Ours("decay to zero", "4.8, updates every ms", 1.0, 0),
        ],
    ),
    (
        "pelt-times",
        "the formula says {} periods, the integers {} periods or {} ms",
        &[
            Ours("decay to 10 %", "formula, periods as ms", 1.0, 1),
            Ours("decay to 10 %", "4.13 on, every period, periods as ms", 1.0, 0),
            Ours("decay to 10 %", "4.13 on, updates every ms", 1.0, 0),
        ],
    ),
    (
        "walt-ramp",
        "PELT {} ms (60-70), WALT {} ms with windows of 10 ms (30-50) and {} ms with 20 ms (60-100)",
        &[
            Ours("the climb, mean", "PELT", 1.0, 0),
            Ours("the climb, mean", "WALT 10 ms", 1.0, 0),
            Ours("the climb, mean", "WALT 20 ms", 1.0, 0),
        ],
    ),
    (
        "walt-ramp",
        "Counted from the task's start they are {}, {} and {} ms",
        &[
            Ours("all of it, mean", "PELT", 1.0, 0),
            Ours("all of it, mean", "WALT 10 ms", 1.0, 0),
            Ours("all of it, mean", "WALT 20 ms", 1.0, 0),
        ],
    ),
    (
        "walt-ramp",
        "with that PELT takes {} to {} ms",
        &[
            Ours("base as in 4.8, all of it, least", "PELT", 1.0, 0),
            Ours("base as in 4.8, all of it, most", "PELT", 1.0, 0),
        ],
    ),
    (
        "walt-cpufreq-bench",
        "PELT's first round differs: 65.4 ms published, {} ms here",
        &[Ours("round 0", "PELT", 1e-3, 1)],
    ),
    (
        "walt-video",
        "WALT saves {} % in Firefox (10.8 % published) and nothing in Chrome (4.6 %); ondemand takes more in both, as \
         published, but {} and {} % more instead of 5 and 3 %",
        &[Change("Firefox", "WALT", 1), Change("Chrome", "ondemand", 0), Change("Firefox", "ondemand", 0)],
    ),
    (
        "walt-desktop",
        "pgbench differs narrowly with ondemand: {} % above PELT",
        &[Change("phoronix pgbench", "ondemand", 1)],
    ),
    ("walt-mobile", "With eight parameters the model leaves {} % of PELT's own numbers unmet", &[Left(0)]),
    (
        "rk3399-fio",
        "TEO with the fixes then comes to {} reads a second on the eMMC (5837 published) and {} on the SD card (2070), and \
         to {} on the NVMe disk, where 4727 were published. TEO of 6.9 is slowest on all three: {}, {} and {},",
        &[
            Ours("mmcblk2", "teo fixed", 1.0, 0),
            Ours("mmcblk1", "teo fixed", 1.0, 0),
            Ours("nvme0n1", "teo fixed", 1.0, 0),
            Ours("nvme0n1", "teo mainline", 1.0, 0),
            Ours("mmcblk2", "teo mainline", 1.0, 0),
            Ours("mmcblk1", "teo mainline", 1.0, 0),
        ],
    ),
    reads!("| nothing | {} | {} | {} |", "teo mainline"),
    reads!("| patch 1 | {} | {} | {} |", "patch 1"),
    reads!("| patches 1 to 4 | {} | {} | {} |", "patches 1 to 4"),
    reads!("| patches 1 to 5 | {} | {} | {} |", "patches 1 to 5"),
    reads!("| all six | {} | {} | {} |", "patches 1 to 6"),
    reads!("| patch 5 alone | {} | {} | {} |", "only 5"),
    reads!("| all but 5 | {} | {} | {} |", "all but 5"),
    (
        "rk3399-timer",
        "Of menu's idle periods {} % are too shallow, of TEO's {} % and with the fixes {} % (published 3.1, 77 and 1.1).",
        &[
            Ours("below (too shallow)", "menu", 1.0, 0),
            Ours("below (too shallow)", "teo mainline", 1.0, 0),
            Ours("below (too shallow)", "teo fixed", 1.0, 1),
        ],
    ),
    (
        "rk3399-timer",
        "TEO of 6.9 is in the deepest state for {} % of the time, not never",
        &[Ours("residency of state 2", "teo mainline", 1.0, 0)],
    ),
    ("pixel6-web", "**Browsing** (`pixel6-web`). Fitted within {} %", &[Left(0)]),
    (
        "pixel6-web",
        "*Too shallow* under the shallow governor is {} % and not 28 %",
        &[Ours("too shallow", "shallow", 1.0, 0)],
    ),
    (
        "pixel6-web",
        "*Power* rises by {} to {} % with shallow states where it fell by 2 %",
        &[Change("power", "teo + util", 0), Change("power", "shallow", 0)],
    ),
    (
        "pixel6-web",
        "The latency under shallow is {} us and not 95 us",
        &[Ours("wakeup latency, CrRendererMain", "shallow", 1.0, 0)],
    ),
    ("pixel6-geekbench", "**A heavy benchmark** (`pixel6-geekbench`). Fitted within {} %", &[Left(0)]),
    (
        "pixel6-geekbench",
        "the latency of the thread that shows progress worst ({} us, 76 published)",
        &[Ours("wakeup latency, asynctask (2022)", "menu", 1.0, 0)],
    ),
    (
        "pixel6-geekbench",
        "under TEO they hardly move (gb5 {} us, 74 published). They scatter much: five runs say {} us under menu",
        &[
            Ours("wakeup latency, gb5 (2022)", "teo", 1.0, 0),
            Ours("wakeup latency, gb5 (2022)", "menu", 1.0, 0),
        ],
    ),
    (
        "pixel6-geekbench",
        "Too deep is {} % under TEO (9.6 published) and {} % with utilisation (4.2), too shallow {} (5.5) and {} (15.3)",
        &[
            Ours("too deep (2022)", "teo", 1.0, 1),
            Ours("too deep (2022)", "teo + util", 1.0, 1),
            Ours("too shallow (2022)", "teo", 1.0, 1),
            Ours("too shallow (2022)", "teo + util", 1.0, 1),
        ],
    ),
    (
        "pixel6-jankbench",
        "**Frames** (`pixel6-jankbench`). Fitted within {} %; frames take {} ms, 13.9 published",
        &[Left(0), Ours("frame duration", "menu", 1.0, 1)],
    ),
    (
        "power9-schbench",
        "so the 99th percentile is {} us in every row",
        &[Ours("latency p99, 2 threads", "TEO", 1.0, 0)],
    ),
];
