// SPDX-License-Identifier: GPL-2.0-only
use std::path::Path;

use super::carrier::Carrier;
use super::survey::Survey;
use crate::error::TraceError;

/// Why a text of a tracer is not read, as far as its first lines show.
pub(super) fn refusal(path: &Path, from: u64, carrier: Carrier, survey: &Survey) -> Option<TraceError> {
    let path = path.to_path_buf();
    let unsupported = |path, line, what: &str, advice| {
        Some(TraceError::Unsupported { path, what: format!("line {line}: {what}"), advice })
    };
    if let Some((line, back)) = survey.time_that_is_a_difference() {
        let what = format!("a time that goes back ({back}), as of perf script --deltatime, is");
        return unsupported(path, line, &what, "print it again without --deltatime");
    }
    if carrier == Carrier::FunctionGraph && survey.has_no_events() {
        let Some(line) = survey.unreadable() else {
            return Some(TraceError::Unsupported {
                path,
                what: "text of the tracer function_graph without events (/* cpu_idle: ... */) is".to_owned(),
                advice: "record the events of power, sched, irq and timer, best with the tracer nop",
            });
        };
        let what = "an event of the tracer function_graph without a time is";
        return unsupported(
            path,
            line,
            what,
            "set its trace option funcgraph-abstime and read the trace again",
        );
    }
    let line = survey.unreadable()?;
    if let Some(line) = survey.without_cpu() {
        return unsupported(
            path,
            line,
            "a time without the CPU before it, as in [003], is",
            "print the CPU too (perf script -F +cpu), from a recording of all CPUs (perf record -a)",
        );
    }
    if survey.is_beyond_time() {
        return Some(TraceError::Malformed {
            path,
            section: "the trace",
            offset: from,
            expected: "times below 18446744073 s, all that 64 bits of nanoseconds hold".to_owned(),
            advice: "the clock was wrong, or the times were changed: take the same amount off all of them, or record \
                     again",
        });
    }
    unsupported(
        path,
        line,
        "ftrace text without tasks or times (trace options raw, hex, bin, verbose or nocontext-info) is",
        "turn these options off and read the trace again",
    )
}
