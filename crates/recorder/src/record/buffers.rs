// SPDX-License-Identifier: GPL-2.0-only
use std::collections::BTreeMap;

use idlewise_live::LiveError;
use idlewise_live::tracefs::Instance;

/// What the kernel counted of a CPU's buffer.
pub struct BufferCount {
    /// Events that are in the buffer, or were.
    pub events: u64,
    /// Those that did not fit.
    pub lost: u64,
    /// The kernel's own words.
    text: String,
}

/// The same of all buffers, by CPU.
pub fn buffer_counts(instance: &Instance) -> Result<BTreeMap<u32, BufferCount>, LiveError> {
    let mut out = BTreeMap::new();
    for cpu in instance.cpus()? {
        let text = instance.stats(cpu)?;
        let count = |key: &str| {
            let line = text.lines().filter_map(|l| l.split_once(':')).find(|(k, _)| *k == key);
            line.and_then(|(_, n)| n.trim().parse::<u64>().ok()).unwrap_or(0)
        };
        let events = count("entries") + count("read events");
        let lost = count("overrun") + count("commit overrun") + count("dropped events");
        out.insert(cpu, BufferCount { events, lost, text });
    }
    Ok(out)
}

/// What the kernel counted of all buffers: events, lost ones, and its own words by CPU.
pub(super) fn totals(instance: &Instance) -> Result<(u64, u64, BTreeMap<u32, String>), LiveError> {
    let counts = buffer_counts(instance)?;
    let sum = |get: fn(&BufferCount) -> u64| counts.values().map(get).sum();
    let (events, lost) = (sum(|c| c.events), sum(|c| c.lost));
    Ok((events, lost, counts.into_iter().map(|(cpu, c)| (cpu, c.text)).collect()))
}
