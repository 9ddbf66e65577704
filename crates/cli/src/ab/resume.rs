// SPDX-License-Identifier: GPL-2.0-only
//! A session's folder names commands that are run, and files of the kernel that are written, both as root. It may come from
//! anywhere: what it names is shown, and done only where this command line names it, too, or allows all of it. Loads that
//! ship with us, governors, states and haltpoll's limits go without saying.

use std::path::Path;

use idlewise_ab::{self as ab, AbRequest, Benchmark, Work};
use idlewise_study::replay::split_governors;

use super::{AbArgs, benchmarks, built_in};
use crate::output::{Failure, warn};

/// Settings of an arm that are no parameter of a kernel module, and the prefix of haltpoll's parameters.
const PLAIN: [&str; 2] = ["disable", "latency_limit_us"];
const HALTPOLL: &str = "guest_halt_poll_";

/// What is left of the session in `folder`.
pub(super) fn rest(a: &AbArgs, folder: &Path) -> Result<Work, Failure> {
    let recorded = ab::stored(folder)?.head.request;
    let refuse = |why: String| Err(Failure::Error(format!("{}: {why}", folder.display())));
    for benchmark in &recorded.benchmarks {
        warn(&format!("{} runs {}", folder.display(), shown(&benchmark.command)));
    }
    let given = benchmarks(a)?;
    let mut run = Vec::new();
    for benchmark in &recorded.benchmarks {
        if let Some(ours) = shipped(benchmark) {
            run.push(ours);
        } else if a.as_recorded || given.iter().any(|g| g.command == benchmark.command) {
            run.push(benchmark.clone());
        } else {
            return refuse(format!(
                "its command {} is from this folder, and is not run unless you give it again (-- COMMAND, --benchmark) or \
                 allow what the folder says with --as-recorded",
                shown(&benchmark.command)
            ));
        }
    }
    let runs =
        |g: &&Benchmark| run.iter().any(|b| b.command == g.command || (b.load.is_some() && b.load == g.load));
    if let Some(other) = given.iter().find(|g| !runs(g)) {
        return refuse(format!(
            "its session does not run {}; leave it out, or begin a new session",
            shown(&other.command)
        ));
    }
    if let Some(governors) = &a.governors
        && split_governors(governors) != recorded.arms
    {
        return refuse(format!("its session compares {}, not {governors}", recorded.arms.join(",")));
    }
    if let Some(why) = differs(a, &recorded) {
        return refuse(format!("{why}; leave it out, or begin a new session"));
    }
    let repeated = |setting: &&str| a.set.iter().any(|s| s == setting) || a.governors.is_some();
    if let Some(setting) = parameters(&recorded).into_iter().find(|s| !a.as_recorded && !repeated(s)) {
        return refuse(format!(
            "the parameter {setting:?} is from this folder, and is not set unless you give it again (--set, --governors) or \
             allow what the folder says with --as-recorded"
        ));
    }
    Ok(Work::Rest { recorded, benchmarks: run })
}

/// What of this command line the session `recorded` does otherwise: a session goes on as it began.
fn differs(a: &AbArgs, recorded: &AbRequest) -> Option<String> {
    let other = |what: &str, was: u64, asked: Option<u64>| {
        let asked = asked.filter(|asked| *asked != was)?;
        Some(format!("its session has {what} {was}, not {asked}"))
    };
    let of_load = |b: &Benchmark| {
        let words = b.command.iter().skip_while(|w| *w != "--seconds");
        let was = words.skip(1).find_map(|w| w.parse().ok())?;
        b.load.as_ref().filter(|load| a.load.contains(load))?;
        other("--seconds", was, a.seconds.map(u64::from))
    };
    let set = || {
        let setting = a.set.iter().find(|s| !recorded.set.contains(s))?;
        let sets = if recorded.set.is_empty() { "nothing".to_owned() } else { recorded.set.join(", ") };
        Some(format!("its session has --set of {sets}, not {setting:?}"))
    };
    other("--repeat", recorded.repeat.into(), a.repeat.map(u64::from))
        .or_else(|| other("--seed", recorded.seed, a.seed))
        .or_else(|| recorded.benchmarks.iter().find_map(of_load))
        .or_else(set)
}

/// A load of ours, run by this program whatever the folder calls it; nothing if it is none.
fn shipped(benchmark: &Benchmark) -> Option<Benchmark> {
    let name = benchmark.load.as_deref()?;
    let [_, word, load, seconds_word, seconds, seed_word, seed] = benchmark.command.as_slice() else {
        return None;
    };
    if [word, load, seconds_word, seed_word] != ["load", name, "--seconds", "--seed"] {
        return None;
    }
    let ours = built_in(name, seconds.parse().ok()?, seed.parse().ok()?).ok()?;
    (ours.name == benchmark.name).then_some(ours)
}

/// Parameters of kernel modules other than haltpoll's.
fn parameters(request: &AbRequest) -> Vec<&str> {
    let of_arms =
        request.arms.iter().filter_map(|arm| arm.split_once(':')).flat_map(|(_, own)| own.split(','));
    let all = request.set.iter().map(String::as_str).chain(of_arms);
    let name = |setting: &str| setting.split('=').next().unwrap_or_default().trim().to_owned();
    all.filter(|s| !s.is_empty() && !PLAIN.contains(&name(s).as_str()) && !name(s).starts_with(HALTPOLL))
        .collect()
}

/// A command as it may be shown: words with anything but plain characters in quotes, and control characters escaped.
fn shown(command: &[String]) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,+@%".contains(c);
    let word = |w: &String| if !w.is_empty() && w.chars().all(plain) { w.clone() } else { format!("{w:?}") };
    command.iter().map(word).collect::<Vec<_>>().join(" ")
}
