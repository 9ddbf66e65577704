// SPDX-License-Identifier: GPL-2.0-only
//! How far governors made recorded choices again, as text.

use idlewise_model::number_of;
use idlewise_platform::cpu_list;
use idlewise_report::{Line, percent};

use idlewise_conform::agreement::Agreement;
use idlewise_conform::recorded_governors::RecordedGovernor;

/// Decisions that differ and are shown in full.
const SHOWN: usize = 3;

/// What stands before the fidelity.
pub(crate) fn agreement_lines(all: &[RecordedGovernor]) -> Vec<Line> {
    let mut out = Vec::new();
    let some = all.iter().any(|p| p.result.is_ok());
    for p in all {
        if some && p.result.is_err() && p.kernel_governor.is_empty() {
            let decisions = number_of(p.recorded, "decision");
            out.push(Line::new("", format!("{decisions} of an earlier governor, which is not named")));
            continue;
        }
        out.push(Line::new("parity", words(p)));
        let Ok(counts) = &p.result else { continue };
        out.extend(differences(counts).map(|why| Line::new("", why)));
        out.extend(counts.first.iter().take(SHOWN).map(|m| Line::new("", m.to_string())));
    }
    out
}

/// One governor in one sentence.
#[must_use]
pub fn words(p: &RecordedGovernor) -> String {
    let counts = match &p.result {
        Ok(counts) => counts,
        Err(why) if p.recorded == 0 => return format!("not known: {why}"),
        Err(why) => return format!("not known: {why}; {} recorded", number_of(p.recorded, "decision")),
    };
    let called = p.kernel_governor.strip_prefix("iw-").unwrap_or(&p.kernel_governor);
    let alias = if called == p.governor || called.is_empty() {
        String::new()
    } else {
        format!(" (the kernel's {called})")
    };
    let mut text = format!(
        "{}{alias} in user space makes the kernel's choices: {} of {} ({} %), fed with the recorded inputs{}",
        p.governor,
        counts.same,
        counts.decisions,
        percent(counts.same_pct()),
        of_table(p)
    );
    let apart = [
        (p.given_up, "cancelled by a reschedule before the entry"),
        (p.refused, "refused by the driver"),
        (counts.unknown_state, "more depend on what came before the recording"),
    ];
    for (n, what) in apart.into_iter().filter(|(n, _)| *n > 0) {
        text += &format!("; {n} {what}");
    }
    if p.kernel_governor.is_empty() && counts.same < counts.decisions {
        text += "; it was active before the recording began, and the differences may depend on that";
    }
    text
}

/// The table that inputs are from.
fn of_table(p: &RecordedGovernor) -> String {
    let name = p.table.as_ref().and_then(|t| t.file_name());
    name.map_or_else(String::new, |name| {
        format!(" of CPUs {} ({})", cpu_list(&p.cpus), name.to_string_lossy())
    })
}

/// How decisions differ, most often first named.
fn differences(c: &Agreement) -> impl Iterator<Item = String> {
    let all = [
        (c.other_state, "another state"),
        (c.other_tick, "another choice to keep or stop the tick"),
        (c.other_question, "only one of the two asked for the sleep length"),
        (c.other_poll_limit, "another limit of the polling loop"),
    ];
    all.into_iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{n} differ: {what}"))
}
