// SPDX-License-Identifier: GPL-2.0-only
//! What could not be tested, and why: a reader of the advice must not take it for tested.

use idlewise_model::{Note, NoteId};
use schemars::JsonSchema;
use serde::Serialize;

use super::evidence::{Evidence, Row};
use idlewise_study::replay::TraceResult;

/// Something that was not tested.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct Untested {
    pub what: String,
    pub why: Note,
}

pub(super) fn of(e: &Evidence<'_>, rows: &[Row]) -> Vec<Untested> {
    let mut out = Vec::new();
    let mut say = |what: &str, why: Note| out.push(Untested { what: what.to_owned(), why });
    if let Err(why) = &e.ab {
        say("the running kernel", why.note().clone());
    }
    let lacking: Vec<&str> =
        rows.iter().filter(|r| r.in_kernel == Some(false)).map(|r| r.governor.as_str()).collect();
    if !lacking.is_empty() {
        say(&lacking.join(", "), NoteId::NotInKernel.note("not in this kernel: replayed only"));
    }
    if e.situation.available.is_none() {
        say(
            "which governors the kernel has",
            NoteId::NotAtHand.note("the recording does not show it, and is of another machine"),
        );
    } else if e.situation.meters.is_empty() {
        let why = e.situation.notes.first().cloned();
        let none = "no power meter here (powercap, hwmon, battery): energy is from the replay alone";
        say("energy", why.unwrap_or_else(|| NoteId::NoMeters.note(none)));
    }
    let alone = rows.iter().filter(|r| e.replay.is_ok() && r.replay.is_none() && r.in_kernel.is_some());
    for row in alone {
        let why = "there is no such governor, or none with these parameters, to replay";
        say(&row.governor, NoteId::GovernorNotHere.note(why));
    }
    for row in rows {
        let never = row.replayed().map_or(&[][..], |r| r.never_entered.as_slice());
        if !never.is_empty() {
            let states = never.join(" and ");
            let why = format!(
                "its replay depends on {states}, which the kernel never entered in the recording: it is not \
                 ranked"
            );
            say(&row.governor, NoteId::NeverEntered.note(why));
        }
    }
    match &e.replay {
        Err(why) => say("a replay", why.note().clone()),
        Ok(report) => report.traces.iter().for_each(|t| of_trace(t, &mut say)),
    }
    out
}

fn of_trace(trace: &TraceResult, say: &mut impl FnMut(&str, Note)) {
    for left in &trace.head.left_out {
        say(&format!("CPU {} in the replay", left.cpu), NoteId::LeftOut.note(&left.why));
    }
    let score = trace.governors.iter().map(|g| &g.score).find(|s| !s.is_nothing());
    if let Some(score) = score {
        if score.states.len() <= 2 {
            let names: Vec<&str> = score.states.iter().map(|s| s.name.as_str()).collect();
            let why = format!("this machine has only {}", names.join(" and "));
            say("the choice between deeper states", NoteId::FewStates.note(why));
        }
        if score.energy_unit == "rel" {
            let why = "the states' powers were not measured: relative, from break-even";
            say("energy in Joules", NoteId::RelativeEnergy.note(why));
        }
    }
    let cost = "not measured here: a replay counts 2 us, known to a factor 0.3 to 6";
    say("what stopping and starting the tick costs", NoteId::TickCost.note(cost));
    let loop_ = "a replay is an open loop: a late wake delays nothing after it";
    say("what a slower wake does to the load", NoteId::OpenLoop.note(loop_));
}
