// SPDX-License-Identifier: GPL-2.0-only
//! Block devices and sources of requests, and what they have to do.

use std::collections::VecDeque;

use idlewise_model::Counted;
use idlewise_workload::{Event, Random, Workload};

/// Streams of chance of devices and sources, apart from those of tasks.
const DEVICES: u64 = 1 << 40;
const SOURCES: u64 = 1 << 41;

/// A workload's block devices, in its order.
#[derive(Debug)]
pub struct Devices(pub Vec<Device>);

/// A block device, and the requests made of it.
#[derive(Debug)]
pub struct Device {
    /// How long answers take, by chance.
    pub random: Random,
    /// Requests that it works on.
    pub busy: u32,
    /// Requests that wait for it: task, the CPU that asked.
    pub waiting: VecDeque<(u32, u32)>,
    /// When each request in work or waiting was made: task, ns.
    pub asked: Vec<(u32, u64)>,
    /// From asking to answer, of requests answered.
    pub latency_ns: Counted,
}

impl Devices {
    /// Nothing was asked of the devices of `workload`.
    #[must_use]
    pub fn new(workload: &Workload, seed: u64) -> Self {
        let device = |i: usize| Device {
            random: Random::stream(seed, DEVICES + i as u64),
            busy: 0,
            waiting: VecDeque::new(),
            asked: Vec::new(),
            latency_ns: Counted::default(),
        };
        Self((0..workload.devices.len()).map(device).collect())
    }

    /// How long requests took, by device, ns.
    #[must_use]
    pub fn latencies(self) -> Vec<Counted> {
        self.0.into_iter().map(|d| d.latency_ns).collect()
    }
}

/// A workload's sources of requests, in its order.
#[derive(Debug)]
pub struct Sources(pub Vec<Source>);

/// A source of requests, and who waits for whom.
#[derive(Debug)]
pub struct Source {
    /// When requests come, by chance.
    pub random: Random,
    /// Some task takes its requests; others are interrupts and no more.
    pub is_taken: bool,
    /// Some task answers its requests; others are kept until they are taken.
    pub is_answered: bool,
    /// When requests that wait came, ns.
    pub waiting: VecDeque<u64>,
    /// Requests on their way to the CPU that takes them in.
    pub coming: VecDeque<u64>,
    /// Tasks that wait for one.
    pub takers: VecDeque<u32>,
    /// From arrival to answer, of requests answered.
    pub latency_ns: Counted,
}

impl Sources {
    /// No request of the sources of `workload` has come.
    #[must_use]
    pub fn new(workload: &Workload, seed: u64) -> Self {
        let events = || workload.tasks.iter().flat_map(|task| &task.phases).flat_map(|phase| &phase.events);
        let (mut taken, mut answered) =
            (vec![false; workload.sources.len()], vec![false; workload.sources.len()]);
        for event in events() {
            match event {
                Event::Take { source } => taken[source.0 as usize] = true,
                Event::Done { source } => answered[source.0 as usize] = true,
                _ => {}
            }
        }
        let source = |i: usize| Source {
            random: Random::stream(seed, SOURCES + i as u64),
            is_taken: taken[i],
            is_answered: answered[i],
            waiting: VecDeque::new(),
            coming: VecDeque::new(),
            takers: VecDeque::new(),
            latency_ns: Counted::default(),
        };
        Self((0..workload.sources.len()).map(source).collect())
    }

    /// How long requests took, by source, ns.
    #[must_use]
    pub fn latencies(self) -> Vec<Counted> {
        self.0.into_iter().map(|s| s.latency_ns).collect()
    }
}
