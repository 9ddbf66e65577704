// SPDX-License-Identifier: GPL-2.0-only
//! A configuration by which Perfetto records on a device what [`tracefs`](crate::tracefs) records here.

use std::fmt::Write as _;
use std::time::Duration;

use idlewise_platform::Platform;

use crate::tracefs;

/// Trace buffer of each CPU in the kernel, MiB, where nobody asks for another.
pub const BUFFER_MIB: u64 = 16;
/// How long a recording is where nobody says it.
pub const LENGTH: Duration = Duration::from_secs(10);
/// What a busy CPU of a phone records, KiB a second: 20,000 events of 40 bytes.
const KIB_PER_SECOND: u64 = 800;
/// Between two times at which the buffers are read, ms: Perfetto takes no longer ones, and shorter ones disturb.
const PERIOD_MS: (u64, u64) = (250, 60_000);
/// Buffer in the tracing service, KiB, at most: a phone has other uses for its memory.
const SERVICE_KIB: u64 = 512 << 10;

macro_rules! declared {
    ($(
        $(#[$doc:meta])* $kind:ident [$($system:literal $name:literal),+] { $($fields:tt)+ } $(only $decides:ident as $guard:ident [$its_key:literal])?;
    )+) => {
        /// The events that idlewise reads: system and name.
        const DECLARED: &[(&str, &str)] = &[$($(($system, $name),)+)+];
    };
}
idlewise_model::kernel_events!(declared);

/// The configuration as text (`perfetto --txt`), for a recording of `length` on a device like `platform`, with `buffer_mib` MiB of
/// trace buffer for each CPU.
///
/// The kernel's buffers are read when a quarter of them is full, if all CPUs are busy, and what was read is written to the file as
/// often: reading wakes CPUs.
#[must_use]
pub fn perfetto_config(platform: &Platform, length: Duration, buffer_mib: u64) -> String {
    let cpus = platform.cpu_count().max(1) as u64;
    let buffer_kib = buffer_mib.saturating_mul(1024);
    let period_ms = (buffer_kib / 4).saturating_mul(1000) / KIB_PER_SECOND;
    let period_ms = period_ms.clamp(PERIOD_MS.0, PERIOD_MS.1);
    // Twice what comes in a period from all CPUs.
    let service_kib = (cpus * KIB_PER_SECOND * period_ms * 2 / 1000).clamp(16 << 10, SERVICE_KIB);
    let mut out = format!(
        "# Made by idlewise {} for {}: {cpus} CPUs, {} s.\n\
         # cat this-file | adb shell perfetto --txt -c - -o /data/misc/perfetto-traces/idle.perfetto-trace\n\
         # An event that the kernel does not have is passed over.\n\
         duration_ms: {}\n\
         write_into_file: true\n\
         file_write_period_ms: {period_ms}\n\
         buffers {{ size_kb: {service_kib} fill_policy: RING_BUFFER }}\n\
         data_sources {{\n  config {{\n    name: \"linux.ftrace\"\n    ftrace_config {{\n",
        env!("CARGO_PKG_VERSION"),
        platform.id,
        length.as_secs_f64(),
        length.as_millis().max(1),
    );
    for (system, name) in DECLARED.iter().filter(|(system, name)| tracefs::is_wanted(system, name)) {
        let name = if name.contains('*') { "*" } else { name };
        let line = format!("      ftrace_events: \"{system}/{name}\"\n");
        if !out.contains(&line) {
            out += &line;
        }
    }
    // Writing to a String does not fail. Without symbols the tick's own timer has no name.
    let _ = write!(
        out,
        "      symbolize_ksyms: true\n      buffer_size_kb: {buffer_kib}\n      drain_period_ms: {period_ms}\n    }}\n  }}\n}}\n"
    );
    out
}
