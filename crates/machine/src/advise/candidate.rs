// SPDX-License-Identifier: GPL-2.0-only
use idlewise_governor::{Offered, RecordedName, Spec};
use serde::Serialize;

use super::situation::Situation;
use idlewise_recording::CommandError;
use idlewise_recording::candidate::ORACLE;
use idlewise_recording::governors::{find_one, offered};
use idlewise_recording::limits;

/// What is replayed where no kernel has to offer it: the newest TEO and the form that its mending proposed, menu.
const HYPOTHETICAL: [&str; 3] = ["menu", "teo", "teo-fixed"];
/// The poll limit that Linux compiles in; drivers may set 0, and so switch polling off.
const POLL_LIMIT: &str = "guest_halt_poll_ns";
const POLL_LIMIT_NS: u64 = 200_000;

/// A governor that is asked about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Candidate {
    /// As `idlewise ab` writes it: `haltpoll:guest_halt_poll_ns=200000`.
    pub name: String,
    /// What stands for it in a replay, with its parameters; empty where a replay cannot do it.
    pub replay: String,
    /// Whether the kernel has it; nothing where that is not known.
    pub in_kernel: Option<bool>,
}

/// Who is asked about: the governor in force, the kernel's others, haltpoll with polling where that is switched off,
/// hypothetical ones, and those of `also`, which the user names: only there a C file may be. `recorded` is what a recording names as its kernel's governor.
#[must_use]
pub fn candidates(situation: &Situation, recorded: &str, also: &[String]) -> Vec<Candidate> {
    let mut names: Vec<String> = situation.governor.iter().cloned().collect();
    names.extend(situation.available.iter().flatten().cloned());
    let polls = situation.haltpoll.get(POLL_LIMIT).is_some_and(|ns| *ns > 0);
    if situation.has("haltpoll") == Some(true) && situation.driver.as_deref() == Some("haltpoll") && !polls {
        names.push(format!("haltpoll:{POLL_LIMIT}={POLL_LIMIT_NS}"));
    }
    names.extend(also.iter().cloned());
    names.extend(HYPOTHETICAL.map(str::to_owned));
    // The other names are read: of the machine, of a recording.
    let offered = offered(also, &[]);
    let mut out: Vec<Candidate> = Vec::new();
    for name in names {
        if !out.iter().any(|c| c.name == name) {
            out.push(Candidate::new(situation, recorded, name, &offered));
        }
    }
    out
}

/// Whether each of `also`, which the user names, can be asked about: a replay knows it, or the machine's kernel has it.
///
/// # Errors
/// [`CommandError`] with the first that cannot, and the names that are near.
pub(super) fn check_named(situation: &Situation, also: &[String]) -> Result<(), CommandError> {
    let offered = offered(also, &[]);
    also.iter().try_for_each(|name| {
        let named = Candidate::new(situation, "", name.clone(), &offered);
        if named.replay.is_empty() && named.in_kernel != Some(true) {
            find_one(name, &[]).map(drop)
        } else {
            Ok(())
        }
    })
}

/// What to ask a replay for: the governors of `candidates`, and the oracle.
#[must_use]
pub fn specs(candidates: &[Candidate]) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    for spec in candidates.iter().map(|c| c.replay.as_str()).chain([ORACLE]) {
        if !spec.is_empty() && !out.iter().any(|s| s == spec) {
            out.push(spec.to_owned());
        }
    }
    out
}

impl Candidate {
    fn new(situation: &Situation, recorded: &str, name: String, offered: &Offered) -> Self {
        let in_kernel = situation.has(name.split(':').next().unwrap_or(&name));
        let replay = spec(situation, recorded, &name, offered).unwrap_or_default();
        Self { replay, in_kernel, name }
    }
}

/// The governor with the parameters by which the kernel's rules, and its own; nothing where a replay cannot have them.
fn spec(situation: &Situation, recorded: &str, name: &str, offered: &Offered) -> Option<String> {
    let (name, limits) = limits::split(name).ok()?;
    let (governor, own) = name.split_once(':').unwrap_or((&name, ""));
    let mut spec: Spec = match recorded.split(':').next() {
        Some(name) if name == governor => recorded.parse().ok()?,
        _ => Spec::new(governor),
    };
    if governor == "haltpoll" && spec.params.is_empty() {
        spec.params = situation.haltpoll.iter().map(|(k, v)| (k.clone(), v.to_string())).collect();
    }
    for setting in own.split(',').filter(|s| !s.is_empty()) {
        let (name, value) = setting.split_once('=')?;
        spec.params.retain(|(n, _)| n != name);
        spec.params.push((name.to_owned(), value.to_owned()));
    }
    let spec = spec.to_string();
    RecordedName::new(&*spec).find(offered, None).ok().map(|_| limits::join(&spec, limits))
}
