// SPDX-License-Identifier: GPL-2.0-only
use std::path::Path;

use idlewise_live::{LiveError, load};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What is compared, how, how often.
#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct AbRequest {
    /// Governors with what else is particular to each: `haltpoll:guest_halt_poll_ns=200000`. The first is the baseline.
    pub arms: Vec<String>,
    /// What runs under each.
    pub benchmarks: Vec<Benchmark>,
    /// What benchmarks print: `NAME=REGEX`, `NAME:higher=REGEX`.
    pub metrics: Vec<String>,
    /// States that are switched off on every CPU, in all arms.
    pub disable: Vec<u32>,
    /// A latency limit held throughout, µs.
    pub latency_limit_us: Option<u32>,
    /// Parameters of kernel modules in all arms: `guest_halt_poll_ns=200000`.
    pub set: Vec<String>,
    /// Runs of each benchmark under each arm.
    pub repeat: u32,
    /// Runs of each benchmark that are thrown away at the start.
    pub warm_up: u32,
    /// Pause after each switch, in ms.
    pub settle_ms: u32,
    /// Which arm begins, 0: in the order given.
    pub seed: u64,
    /// The load of other processes under which a run is repeated, % of all CPUs.
    pub foreign_pct: u32,
    /// Repeat a run at most N times.
    pub retries: u32,
    /// The difference that does not matter, in thousandths.
    pub margin_permille: u32,
    /// One governor as two arms: nothing may be found.
    pub aa: bool,
    /// Trace how long the benchmark's tasks wait from being woken to running.
    #[serde(default)]
    pub wakeups: bool,
}

impl AbRequest {
    /// The arms of a comparison of `governors`; of one with itself (`aa`) it is there twice.
    ///
    /// # Errors
    /// [`LiveError::Conflict`] where there is nothing to compare.
    pub fn arms(governors: Vec<String>, aa: bool) -> Result<Vec<String>, LiveError> {
        match (aa, governors.as_slice()) {
            (true, [one]) => Ok(vec![one.clone(), one.clone()]),
            (true, _) => Err(LiveError::Conflict("--aa compares one governor with itself: name one")),
            (false, [] | [_]) => Err(LiveError::Conflict("name two governors or more, or one with --aa")),
            (false, _) => Ok(governors),
        }
    }
}

/// A command that is run under each arm.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Benchmark {
    /// Its name in the report.
    pub name: String,
    /// The program and its arguments.
    pub command: Vec<String>,
    /// The name of a load of ours, if it is one: its results are known, its run time is fixed.
    pub load: Option<String>,
}

impl Benchmark {
    /// A command of the user's, by the name of its program; `None` for no words.
    #[must_use]
    pub fn of_command(command: &[String]) -> Option<Self> {
        let first = command.first()?;
        let name =
            Path::new(first).file_name().map_or_else(|| first.clone(), |n| n.to_string_lossy().into_owned());
        Some(Self { name, command: command.to_owned(), load: None })
    }

    /// A shell command of the user's, as `NAME=CMD`.
    ///
    /// # Errors
    /// [`LiveError::Argument`] where it is not written so.
    pub fn of_shell(text: &str) -> Result<Self, LiveError> {
        let parts = text.split_once('=').filter(|(name, shell)| !name.is_empty() && !shell.is_empty());
        let (name, shell) =
            parts.ok_or_else(|| LiveError::argument(format!("--benchmark {text}"), "expected NAME=CMD"))?;
        let command = ["sh", "-c", shell].map(str::to_owned).into();
        Ok(Self { name: name.to_owned(), command, load: None })
    }

    /// Whether `benchmarks` can be distinguished, and there is one.
    ///
    /// # Errors
    /// [`LiveError::Conflict`] where not.
    pub fn check(benchmarks: &[Self]) -> Result<(), LiveError> {
        if benchmarks.is_empty() {
            let why = "no benchmark given: add -- COMMAND, --benchmark NAME=CMD or --load NAME";
            return Err(LiveError::Conflict(why));
        }
        let again = |(i, b): (usize, &Self)| benchmarks.iter().take(i).any(|other| other.name == b.name);
        if benchmarks.iter().enumerate().any(again) {
            return Err(LiveError::Conflict("two benchmarks have the same name"));
        }
        Ok(())
    }

    /// The load `name` that ships with idlewise: this program as a process that is the load, for `seconds`.
    ///
    /// # Errors
    /// [`LiveError`] when there is none of that name; it lists them.
    pub fn of_load(name: &str, seconds: u32, seed: u64) -> Result<Self, LiveError> {
        let load = load::find(name)?;
        let this = std::env::current_exe().map_err(LiveError::io(Path::new("/proc/self/exe")))?;
        let seconds = seconds.to_string();
        let seed = seed.to_string();
        let words = [&this.to_string_lossy(), "load", load.name, "--seconds", &seconds, "--seed", &seed];
        Ok(Self {
            name: load.name.to_owned(),
            command: words.map(str::to_owned).into(),
            load: Some(load.name.to_owned()),
        })
    }
}
