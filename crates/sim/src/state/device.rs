// SPDX-License-Identifier: GPL-2.0-only
//! Block devices and sources of requests, and what they have to do.

use std::collections::VecDeque;

use idlewise_model::Counted;
use idlewise_workload::{Random, Workload};

/// Streams of chance of devices and sources, apart from those of tasks.
const DEVICES: u64 = 1 << 40;
const SOURCES: u64 = 1 << 41;

#[derive(Debug)]
pub(crate) struct Devices(pub(crate) Vec<Device>);

#[derive(Debug)]
pub(crate) struct Device {
    pub(crate) random: Random,
    /// Requests that it works on.
    pub(crate) busy: u32,
    /// Requests that wait for it: task, the CPU that asked.
    pub(crate) waiting: VecDeque<(u32, u32)>,
    /// When each request in work or waiting was made: task, ns.
    pub(crate) asked: Vec<(u32, u64)>,
    pub(crate) latency_ns: Counted,
}

impl Devices {
    pub(crate) fn new(workload: &Workload, seed: u64) -> Self {
        let device = |i: usize| Device {
            random: Random::stream(seed, DEVICES + i as u64),
            busy: 0,
            waiting: VecDeque::new(),
            asked: Vec::new(),
            latency_ns: Counted::default(),
        };
        Self((0..workload.devices.len()).map(device).collect())
    }

    pub(crate) fn latencies(self) -> Vec<Counted> {
        self.0.into_iter().map(|d| d.latency_ns).collect()
    }
}

/// The sources of requests.
#[derive(Debug)]
pub(crate) struct Sources(pub(crate) Vec<Source>);

#[derive(Debug)]
pub(crate) struct Source {
    pub(crate) random: Random,
    /// When requests that wait came, ns.
    pub(crate) waiting: VecDeque<u64>,
    /// Requests on their way to the CPU that takes them in.
    pub(crate) coming: VecDeque<u64>,
    /// Tasks that wait for one.
    pub(crate) takers: VecDeque<u32>,
    pub(crate) latency_ns: Counted,
}

impl Sources {
    pub(crate) fn new(workload: &Workload, seed: u64) -> Self {
        let source = |i: usize| Source {
            random: Random::stream(seed, SOURCES + i as u64),
            waiting: VecDeque::new(),
            coming: VecDeque::new(),
            takers: VecDeque::new(),
            latency_ns: Counted::default(),
        };
        Self((0..workload.sources.len()).map(source).collect())
    }

    pub(crate) fn latencies(self) -> Vec<Counted> {
        self.0.into_iter().map(|s| s.latency_ns).collect()
    }
}
