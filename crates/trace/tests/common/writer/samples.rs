// SPDX-License-Identifier: GPL-2.0-only
//! A small trace with a bit of everything.

use super::{Dat, Page, format, payload};

/// Formats of a few events, with the ids that [`small`] uses.
pub fn formats(long: u8) -> Vec<(&'static str, String)> {
    let l = u16::from(long);
    vec![
        ("power", format("cpu_idle", 10, &[("u32 state", 8, 4, 0), ("u32 cpu_id", 12, 4, 0)])),
        (
            "power",
            format(
                "cpu_idle_miss",
                11,
                &[("u32 cpu_id", 8, 4, 0), ("u32 state", 12, 4, 0), ("bool below", 16, 1, 0)],
            ),
        ),
        (
            "sched",
            format(
                "sched_switch",
                20,
                &[
                    ("char prev_comm[16]", 8, 16, 0),
                    ("pid_t prev_pid", 24, 4, 1),
                    ("int prev_prio", 28, 4, 1),
                    ("long prev_state", 32, l, 1),
                    ("char next_comm[16]", 32 + l, 16, 0),
                    ("pid_t next_pid", 48 + l, 4, 1),
                    ("int next_prio", 52 + l, 4, 1),
                ],
            ),
        ),
        (
            "irq",
            format("irq_handler_entry", 30, &[("int irq", 8, 4, 1), ("__data_loc char[] name", 12, 4, 0)]),
        ),
        ("ipi", format("ipi_entry", 40, &[("const char * reason", 8, l, 0)])),
        ("other", format("something", 50, &[("u64 x", 8, 8, 0)])),
    ]
}

/// A small trace of two CPUs with every kind of entry.
pub fn small() -> Dat {
    let idle = |state: u64, cpu: u64| payload(10, 0, &[(8, 4, state), (12, 4, cpu)]);
    let irq = payload(30, 0, &[(8, 4, 19), (12, 4, 16 | 5 << 16)]).tail(b"eth0\0");
    let long = payload(50, 42, &[(8, 8, 1), (200, 4, 9)]);
    let switch = payload(20, 0, &[(24, 4, 0), (28, 4, 120), (32, 8, 0), (56, 4, 42), (60, 4, 100)]);
    let cpu0 = vec![
        Page::new(1_000)
            .event(0, &idle(1, 0))
            .extend(3_000_000_000)
            .event(5, &irq)
            .padding(7, 12)
            .event(1, &idle(0xffff_ffff, 0))
            .event(2, &payload(11, 0, &[(8, 4, 0), (12, 4, 1), (16, 1, 1)]))
            .event(2, &long),
        Page::new(4_000_000_000).missed(7).event(3, &switch).stamp(4_000_000_100).event(0, &long),
        Page::new(5_000_000_000),
        Page::new(6_000_000_000).missed(u64::MAX).event(1, &payload(99, 1, &[(8, 4, 0)])),
    ];
    let cpu3 = vec![
        Page::new(1_000)
            .event(0, &idle(2, 3))
            .event(100, &payload(40, 0, &[(8, 8, 0xffff_0000)]))
            .event(100, &idle(0xffff_ffff, 3)),
        Page::new(500).event(0, &idle(0, 3)),
    ];
    Dat {
        formats: formats(8),
        printk: "0xffff0000 : \"Rescheduling interrupts\"\n0xffff0020 : \"other: text\"\n".into(),
        kallsyms: "ffff1000 T first\nffff2000 T second\n".into(),
        cpus: vec![(0, cpu0), (3, cpu3)],
        options: vec![(5, b"Linux host 6.9.1 x86_64\0".to_vec()), (9, b"3.2.0 x\0".to_vec())],
        ..Dat::default()
    }
}
