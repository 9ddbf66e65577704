// SPDX-License-Identifier: GPL-2.0-only
//! What an interrupted session still has to do, and may do.
//!
//! A session's folder names commands that run, and files of the kernel that are written, both as root. It may come from anywhere.
//! What it names is printed, and is done only where the user names it, too, or allows all of it. Loads that ship with idlewise,
//! governors, states and haltpoll's limits need no permission.

use std::path::Path;

use idlewise_live::LiveError;

use super::session::Work;
use super::stored::stored;
use super::{AbRequest, Benchmark};

/// What the user names of a session that is resumed.
#[derive(Clone, Debug, Default)]
pub struct ResumeRequest {
    pub benchmarks: Vec<Benchmark>,
    /// The governors, if any are named.
    pub arms: Option<Vec<String>>,
    /// Runs of each benchmark under each arm.
    pub repeat: Option<u32>,
    pub seed: Option<u64>,
    /// How long loads run, s.
    pub seconds: Option<u32>,
    /// Parameters of kernel modules: `guest_halt_poll_ns=200000`.
    pub set: Vec<String>,
    /// Allows whatever the folder names.
    pub as_recorded: bool,
}

/// Settings of an arm that are no parameter of a kernel module, and the prefix of haltpoll's parameters.
const PLAIN: [&str; 2] = ["disable", "latency_limit_us"];
const HALTPOLL: &str = "guest_halt_poll_";

/// What is left of the session in `folder`, as far as `given` allows it. `say` hears each command that the folder names.
///
/// # Errors
/// [`LiveError`] when the folder holds no session, names what is not given again, or has other settings than those given.
pub fn rest(folder: &Path, given: &ResumeRequest, say: &mut dyn FnMut(&str)) -> Result<Work, LiveError> {
    let recorded = stored(folder)?.head.request;
    let refuse = |why: String| Err(LiveError::Session { path: folder.to_owned(), why });
    for benchmark in &recorded.benchmarks {
        say(&format!("{} runs {}", folder.display(), shown(&benchmark.command)));
    }
    let mut run = Vec::new();
    for benchmark in &recorded.benchmarks {
        if let Some(ours) = shipped(benchmark) {
            run.push(ours);
        } else if given.as_recorded || given.benchmarks.iter().any(|g| g.command == benchmark.command) {
            run.push(benchmark.clone());
        } else {
            return refuse(format!(
                "its command {} comes from this folder, and is not run unless you give it again (-- \
                 COMMAND, --benchmark) or allow the folder's commands with --as-recorded",
                shown(&benchmark.command)
            ));
        }
    }
    let runs =
        |g: &&Benchmark| run.iter().any(|b| b.command == g.command || (b.load.is_some() && b.load == g.load));
    if let Some(other) = given.benchmarks.iter().find(|g| !runs(g)) {
        return refuse(format!(
            "its session does not run {}; leave it out, or begin a new session",
            shown(&other.command)
        ));
    }
    if let Some(arms) = given.arms.as_ref().filter(|arms| **arms != recorded.arms) {
        return refuse(format!("its session compares {}, not {}", recorded.arms.join(","), arms.join(",")));
    }
    if let Some(why) = differs(given, &recorded) {
        return refuse(format!("{why}; leave it out, or begin a new session"));
    }
    // The arms that are given are those of the session, with their settings.
    let of_arms = recorded.arms.iter().filter(|_| given.arms.is_none());
    let of_arms = of_arms.filter_map(|arm| arm.split_once(':')).flat_map(|(_, own)| own.split(','));
    let common = recorded.set.iter().filter(|s| !given.set.contains(s)).map(String::as_str);
    let mut not_given = common.chain(of_arms).filter(|s| is_parameter(s));
    if let Some(setting) = not_given.next().filter(|_| !given.as_recorded) {
        return refuse(format!(
            "the parameter {setting:?} comes from this folder, and is not set unless you give it again \
             (--set, --governor) or allow the folder's parameters with --as-recorded"
        ));
    }
    Ok(Work::Rest { recorded, benchmarks: run })
}

/// How the session `recorded` differs from what is given: a session goes on as it began.
fn differs(given: &ResumeRequest, recorded: &AbRequest) -> Option<String> {
    let other = |what: &str, was: u64, asked: Option<u64>| {
        let asked = asked.filter(|asked| *asked != was)?;
        Some(format!("its session has {what} {was}, not {asked}"))
    };
    let of_load = |b: &Benchmark| {
        let words = b.command.iter().skip_while(|w| *w != "--seconds");
        let was = words.skip(1).find_map(|w| w.parse().ok())?;
        b.load.as_ref().filter(|load| given.benchmarks.iter().any(|g| g.load.as_ref() == Some(load)))?;
        other("--seconds", was, given.seconds.map(u64::from))
    };
    let set = || {
        let setting = given.set.iter().find(|s| !recorded.set.contains(s))?;
        let sets = if recorded.set.is_empty() { "nothing".to_owned() } else { recorded.set.join(", ") };
        Some(format!("its session has --set of {sets}, not {setting:?}"))
    };
    other("--repeat", recorded.repeat.into(), given.repeat.map(u64::from))
        .or_else(|| other("--seed", recorded.seed, given.seed))
        .or_else(|| recorded.benchmarks.iter().find_map(of_load))
        .or_else(set)
}

/// A load that ships with idlewise, run by this program whatever the folder calls it; `None` for anything else.
fn shipped(benchmark: &Benchmark) -> Option<Benchmark> {
    let name = benchmark.load.as_deref()?;
    let [_, word, load, seconds_word, seconds, seed_word, seed] = benchmark.command.as_slice() else {
        return None;
    };
    if [word, load, seconds_word, seed_word] != ["load", name, "--seconds", "--seed"] {
        return None;
    }
    let ours = Benchmark::of_load(name, seconds.parse().ok()?, seed.parse().ok()?).ok()?;
    (ours.name == benchmark.name).then_some(ours)
}

/// Whether `setting` is of a kernel module's parameter other than haltpoll's.
fn is_parameter(setting: &str) -> bool {
    let name = setting.split('=').next().unwrap_or_default().trim();
    !name.is_empty() && !PLAIN.contains(&name) && !name.starts_with(HALTPOLL)
}

/// A command as it may be shown: words with anything but plain characters in quotes, and control characters escaped.
fn shown(command: &[String]) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,+@%".contains(c);
    let word = |w: &String| if !w.is_empty() && w.chars().all(plain) { w.clone() } else { format!("{w:?}") };
    command.iter().map(word).collect::<Vec<_>>().join(" ")
}
