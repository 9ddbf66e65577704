// SPDX-License-Identifier: GPL-2.0-only
//! The idle states of a running machine, looked at again and again. No file is written, and no right is needed.

mod place;
mod prometheus;
mod reader;
mod share;
mod snapshot;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use idlewise_platform::{PlatformError, SysfsCounters, SysfsDump, SysfsState};

use crate::limits::{LimitWatch, Limiting};
use crate::power::{Meters, Reading};
use crate::{Host, LiveError};
use reader::CpuFiles;

pub use place::Place;
pub use prometheus::{is_ours, textfile};
pub use share::Share;
pub use snapshot::{Row, SCHEMA, Snapshot, StateRow};

/// A machine that is being watched.
#[derive(Debug)]
pub struct Watch {
    host: Host,
    /// What sysfs called CPUs when it was last gone through.
    shape: (String, Vec<String>),
    files: BTreeMap<u32, CpuFiles>,
    machine: Arc<Machine>,
    meters: Arc<Meters>,
    /// From the first look on.
    limits: Option<LimitWatch>,
}

/// What does not change from look to look, unless CPUs come or go.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Machine {
    /// The kernel's version; empty where it is not told.
    pub release: String,
    /// The cpuidle driver; empty where it is not told.
    pub driver: String,
    /// Parts of the machine that are alike, each with its CPUs.
    pub places: Vec<Place>,
    /// The names of each CPU's states.
    pub states: BTreeMap<u32, Vec<String>>,
    /// The tables of idle states that CPUs have, each once: every state with exit latency and target residency.
    pub tables: Vec<String>,
}

/// The counters of all CPUs at one moment.
#[derive(Clone, Debug, PartialEq)]
pub struct CounterSample {
    /// When, on the caller's clock.
    pub at: Duration,
    /// The counters of CPUs that are online.
    pub counters: SysfsCounters,
    /// Time in the idle task, us, by CPU, current stays included: `/proc/stat`, in steps of 10 ms.
    pub idle_us: BTreeMap<u32, u64>,
    /// The governor in charge; empty where it is not told.
    pub governor: String,
    /// The machine as it was.
    pub machine: Arc<Machine>,
    /// Its meters, and what they showed.
    pub meters: (Arc<Meters>, Vec<Option<Reading>>),
    /// What limited it since the look before; nothing at the first.
    pub limiting: Option<Limiting>,
}

impl Watch {
    /// Goes through sysfs once: CPUs, their states, what they share, meters.
    ///
    /// # Errors
    /// [`LiveError::Lacks`] where no CPU has idle states; [`LiveError::Platform`] where sysfs cannot be read.
    pub fn open(host: &Host) -> Result<Self, LiveError> {
        let mut watch = Self {
            host: host.clone(),
            shape: reader::shape(host),
            files: BTreeMap::new(),
            machine: Arc::default(),
            meters: Arc::new(Meters::find(host)),
            limits: None,
        };
        watch.go_through()?;
        Ok(watch)
    }

    /// Reads all counters; `at` is now, on any clock. CPUs that went offline are not in it, those that came are.
    ///
    /// # Errors
    /// [`LiveError::Lacks`] when no CPU's counters can be read any more.
    pub fn look(&mut self, at: Duration) -> Result<CounterSample, LiveError> {
        let shape = reader::shape(&self.host);
        // A CPU may go while sysfs is gone through: then the next look does it again.
        if shape != self.shape && self.go_through().is_ok() {
            self.shape = shape.clone();
        }
        let online = reader::online(&shape.0);
        let here = self.files.iter().filter(|(cpu, _)| online.as_ref().is_none_or(|o| o.contains(cpu)));
        let cpus: BTreeMap<_, _> = here.filter_map(|(cpu, files)| Some((*cpu, files.read()?))).collect();
        if cpus.is_empty() {
            let why = "the counters of idle states cannot be read any more: did the cpuidle driver go?";
            return Err(LiveError::lacks(why));
        }
        let limiting = self.limits.as_mut().map(|l| l.end(at));
        if self.limits.is_none() {
            self.limits = Some(LimitWatch::begin(&self.host, at));
        }
        Ok(CounterSample {
            at,
            counters: SysfsCounters { cpus },
            idle_us: reader::idle_us(&self.host),
            governor: reader::governor(&self.host),
            machine: self.machine.clone(),
            meters: (self.meters.clone(), self.meters.read()),
            limiting,
        })
    }

    fn go_through(&mut self) -> Result<(), LiveError> {
        let dump = SysfsDump::read(&self.host.sys).map_err(|e| match e {
            // What to do instead is another matter for a machine that is to be watched.
            PlatformError::Dump { file, what, .. } => {
                LiveError::lacks(format!("{file}: {what}; there is nothing to watch"))
            }
            other => other.into(),
        })?;
        self.files = dump
            .cpus
            .iter()
            .filter_map(|(cpu, states)| Some(((*cpu)?, CpuFiles::new(&self.host, (*cpu)?, states))))
            .collect();
        let names = |states: &BTreeMap<usize, SysfsState>| {
            let name = |(index, s): (&usize, &SysfsState)| {
                s.name.clone().filter(|n| !n.is_empty()).unwrap_or_else(|| format!("state{index}"))
            };
            states.iter().map(name).collect()
        };
        let table = |states: &BTreeMap<usize, SysfsState>| {
            states.values().map(SysfsState::shown).collect::<Vec<_>>().join(", ")
        };
        let tables: BTreeSet<String> = dump.cpus.values().map(table).collect();
        let machine = Machine {
            tables: tables.into_iter().collect(),
            release: reader::release(&self.host),
            driver: dump.driver.clone().unwrap_or_default(),
            places: place::places(&self.host, &dump),
            states: dump.cpus.iter().filter_map(|(cpu, states)| Some(((*cpu)?, names(states)))).collect(),
        };
        self.machine = Arc::new(machine);
        Ok(())
    }
}

impl Machine {
    /// The name of a state of a CPU.
    #[must_use]
    pub fn state_name(&self, cpu: u32, index: usize) -> &str {
        self.states.get(&cpu).and_then(|s| s.get(index)).map_or("?", String::as_str)
    }

    /// The part of the machine that a CPU belongs to.
    #[must_use]
    pub fn place_of(&self, cpu: u32) -> Option<&Place> {
        self.places.iter().find(|p| p.cpus.contains(&cpu))
    }
}
