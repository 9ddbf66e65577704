// SPDX-License-Identifier: GPL-2.0-only
//! Whether two dumps are of one boot of one machine, as far as they show it.

use std::collections::BTreeMap;

use idlewise_model::{IdleState, IdleTable};

use crate::platform::{NEVER_NS, NEVER_US};
use crate::{SysfsDump, SysfsState};

/// Why two dumps are not of one boot of one machine, in words that call them the first and the second.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OtherMachine {
    /// Their idle states differ: counters of one of them say nothing about those of the other.
    Table(String),
    /// Driver, host or kernel differ.
    Host(String),
    /// One machine and kernel, started between them.
    Boot(String),
}

impl OtherMachine {
    /// What differs, in a word or two.
    #[must_use]
    pub fn what(&self) -> &'static str {
        match self {
            Self::Table(_) => "tables of idle states",
            Self::Host(_) => "machines or kernels",
            Self::Boot(_) => "boots",
        }
    }

    /// What differs and how, with the place where it was found first.
    #[must_use]
    pub fn why(&self) -> &str {
        let (Self::Table(why) | Self::Host(why) | Self::Boot(why)) = self;
        why
    }
}

impl SysfsDump {
    /// What shows that `other` is of another machine, kernel, driver or boot; `None` where nothing does. What one of them does
    /// not show is no difference. Only names and numbers identify a state: its description is free text.
    #[must_use]
    pub fn other_machine(&self, other: &Self) -> Option<OtherMachine> {
        let table = self.cpus.iter().find_map(|(cpu, states)| {
            let (_, theirs) = other.cpus.iter().find(|(c, _)| c.unwrap_or(0) == cpu.unwrap_or(0))?;
            let whose = cpu.map_or(String::new(), |c| format!("cpu{c} "));
            let differs = states.iter().find_map(|(number, a)| {
                let b = theirs.get(number)?;
                (!a.may_be(b)).then(|| {
                    format!(
                        "{whose}state{number} is {} in the first and {} in the second",
                        a.shown(),
                        b.shown()
                    )
                })
            });
            // No table has a hole: a state that is missing below others is one whose lines are.
            let beyond =
                |n: &&usize, others: &BTreeMap<usize, SysfsState>| others.keys().all(|other| other < *n);
            let numbers = || {
                let only = states.keys().find(|n| beyond(n, theirs)).map(|n| (n, "first"));
                let only = only.or_else(|| theirs.keys().find(|n| beyond(n, states)).map(|n| (n, "second")));
                only.map(|(n, which)| format!("{whose}state{n} is in the {which} only"))
            };
            differs.or_else(numbers)
        });
        let differ = |what: &str, a: Option<&str>, b: Option<&str>| {
            let (a, b) = (a.filter(|a| !a.is_empty())?, b.filter(|b| !b.is_empty())?);
            (a != b).then(|| format!("the {what} is {a} in the first and {b} in the second"))
        };
        let (a, b) = (&self.origin, &other.origin);
        let host = || {
            differ("driver", self.driver.as_deref(), other.driver.as_deref())
                .or_else(|| differ("machine", Some(&a.host), Some(&b.host)))
                .or_else(|| differ("kernel", a.release.as_deref(), b.release.as_deref()))
        };
        let seconds = |n: u64| format!("{}.{:02} s", n / 100, n % 100);
        let up = || a.uptime.zip(b.uptime).filter(|(a, b)| b < a);
        let boot = || {
            differ("boot_id", a.boot_id.as_deref(), b.boot_id.as_deref())
                .or_else(|| {
                    differ("kernel's command line", a.command_line.as_deref(), b.command_line.as_deref())
                })
                .or_else(|| up().and_then(|(a, b)| differ("uptime", Some(&seconds(a)), Some(&seconds(b)))))
        };
        table
            .map(OtherMachine::Table)
            .or_else(|| host().map(OtherMachine::Host))
            .or_else(|| boot().map(OtherMachine::Boot))
    }
}

impl SysfsState {
    /// Whether both may be one state: nothing that both show differs.
    #[must_use]
    pub fn may_be(&self, other: &Self) -> bool {
        fn differ<T: PartialEq>(a: Option<&T>, b: Option<&T>) -> bool {
            a.zip(b).is_some_and(|(a, b)| a != b)
        }
        !(differ(self.name.as_ref(), other.name.as_ref())
            || differ(self.latency_us.as_ref(), other.latency_us.as_ref())
            || differ(self.residency_us.as_ref(), other.residency_us.as_ref()))
    }

    /// What sysfs shows of the states of a table.
    #[must_use]
    pub fn of_table(table: &IdleTable) -> Vec<Self> {
        let us = |ns: i64| u64::try_from(ns / 1000).ok();
        let residency_us = |ns: i64| if ns == NEVER_NS { u64::try_from(NEVER_US).ok() } else { us(ns) };
        let state = |s: &IdleState| Self {
            name: Some(s.name.clone()),
            latency_us: us(s.exit_latency_ns),
            residency_us: residency_us(s.target_residency_ns),
            ..Self::default()
        };
        table.states().iter().map(state).collect()
    }

    /// `C6 (220/600 us)`: name, latency and residency.
    #[must_use]
    pub fn shown(&self) -> String {
        let us = |us: Option<u64>| us.map_or_else(|| "?".to_owned(), |us| us.to_string());
        let name = self.name.as_deref().unwrap_or("?");
        format!("{name} ({}/{} us)", us(self.latency_us), us(self.residency_us))
    }
}
