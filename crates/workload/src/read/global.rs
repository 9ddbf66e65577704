// SPDX-License-Identifier: GPL-2.0-only
//! The `global` object.

use super::reader::{MAX_CPU, MAX_US, Reader};
use super::tasks::PolicyName;
use crate::json::{Member, Value};
use crate::{Calibration, Global, WorkloadError};

const KEYS: [&str; 17] = [
    "duration",
    "calibration",
    "default_policy",
    "pi_enabled",
    "io_device",
    "mem_buffer_size",
    "lock_pages",
    "cumulative_slack",
    "frag",
    "logdir",
    "log_basename",
    "log_size",
    "log_period",
    "ftrace",
    "gnuplot",
    "precise_calibration",
    "recalibrate",
];

/// rt-app's default: 4 MiB.
const MEM_BUFFER: u64 = 4 << 20;

/// The settings, and the policy of tasks that name none.
pub(super) fn read(r: &mut Reader<'_>, members: &[Member]) -> Result<(Global, PolicyName), WorkloadError> {
    let mut global = Global {
        duration_ns: None,
        calibration: Calibration::Cpu(0),
        io_device: "/dev/null".into(),
        mem_buffer_bytes: MEM_BUFFER,
        priority_inheritance: false,
    };
    let mut policy = PolicyName::Other;
    for (n, m) in members.iter().enumerate() {
        let twice = |o: &&Member| o.key == m.key && o.at.file == m.at.file;
        if KEYS.contains(&m.key.as_str()) && members.iter().take(n).find(twice).is_some() {
            return Err(r.meaningless(m, "this setting is here twice", "keep one of them"));
        }
        match m.key.as_str() {
            "duration" => {
                let seconds = r.whole(m, -1..=MAX_US / 1_000_000, "seconds, or -1 for no end,")?;
                if seconds == 0 {
                    return Err(r.wrong(m, "seconds from 1, or -1 for no end"));
                }
                global.duration_ns = u64::try_from(seconds).ok().map(|s| s * 1_000_000_000);
            }
            "calibration" => global.calibration = calibration(r, m)?,
            "default_policy" => policy = PolicyName::read(r, m)?,
            "pi_enabled" => global.priority_inheritance = r.flag(m)?,
            "io_device" => global.io_device = r.text(m, "the path of a file")?.to_string(),
            "mem_buffer_size" => {
                global.mem_buffer_bytes = r.whole(m, 1..=1 << 40, "bytes")?.unsigned_abs();
            }
            "lock_pages" | "frag" | "precise_calibration" | "recalibrate" => {
                r.note("options about paging and how to calibrate are skipped: there is neither");
            }
            "cumulative_slack" | "logdir" | "log_basename" | "log_size" | "log_period" | "ftrace"
            | "gnuplot" => {
                r.note("options about rt-app's logs and plots are skipped: results are written by idlewise");
            }
            key if key.starts_with('_') => {}
            key => return Err(r.unknown_key(m.at, key, &KEYS)),
        }
    }
    Ok((global, policy))
}

fn calibration(r: &mut Reader<'_>, m: &Member) -> Result<Calibration, WorkloadError> {
    match m.value.as_ref().map(|n| &n.value) {
        Some(Value::Number(_)) => {
            let ns = r.count(m, 1..=1_000_000_000, "ns per loop")?;
            r.note(format!(
                "calibration {ns} ns per loop: the machine that this was measured on is not known; `run` is taken as \
                 microseconds of the fastest CPU"
            ));
            Ok(Calibration::NsPerLoop(ns))
        }
        Some(Value::Text(text)) => {
            let cpu = text.strip_prefix("CPU").and_then(|n| n.parse().ok());
            cpu.filter(|n| *n <= MAX_CPU)
                .map(Calibration::Cpu)
                .ok_or_else(|| r.wrong(m, "\"CPU0\" (any CPU's number) or ns per loop"))
        }
        _ => Err(r.wrong(m, "\"CPU0\" (any CPU's number) or ns per loop")),
    }
}
