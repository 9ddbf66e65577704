// SPDX-License-Identifier: GPL-2.0-only
use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::Duration;

use idlewise_report::share;

use super::arm::Arms;
use super::metric::Metric;
use super::plan::{Turn, order};
use super::run::{Run, Runner};
use super::stop::Stop;
use super::stored::{FILE, Head, SCHEMA, Stored, stored};
use super::wakeups::Tracer;
use super::watcher::SharedLimits;
use super::{AbRequest, Benchmark};
use idlewise_live::journal::Restoration;
use idlewise_live::tracefs::Tracefs;
use idlewise_live::watch::Watch;
use idlewise_live::{Host, Journal, LiveError, clock};

/// The longest rest before a run that is made again, unless a longer one is asked for.
const LONGEST_REST_MS: u64 = 10_000;

/// What a session is to do.
#[derive(Clone, Debug)]
pub enum Work {
    /// All of this, in a new folder.
    New(AbRequest),
    /// What the session in the folder has not done yet.
    Rest {
        /// What its file asks for: it names commands and settings, and who runs them has seen it.
        recorded: AbRequest,
        /// What is run of it: the same by name.
        benchmarks: Vec<Benchmark>,
    },
}

/// Does `work` and keeps its runs in `folder`. `say` hears what is being done, and what an earlier session left. Returns what was restored at the end.
///
/// # Errors
/// When the machine cannot be switched, a benchmark fails, or the session is stopped. Runs that were made are kept, and
/// everything is restored.
pub fn run(
    host: &Host,
    work: Work,
    folder: &Path,
    stop: &Stop,
    say: &mut dyn FnMut(&str),
) -> Result<Restoration, LiveError> {
    let mut watch = Watch::open(host)?;
    let look = watch.look(Duration::ZERO)?;
    let here = Head {
        schema: SCHEMA.to_owned(),
        request: match &work {
            Work::New(request) | Work::Rest { recorded: request, .. } => request.clone(),
        },
        kernel: look.machine.release.clone(),
        driver: look.machine.driver.clone(),
        cpus: look.counters.cpus.len(),
        states: look.machine.tables.clone(),
        governor: look.governor.clone(),
    };
    let resumes = matches!(work, Work::Rest { .. });
    let (head, done, benchmarks) = match work {
        Work::New(request) => (here, Vec::new(), request.benchmarks),
        Work::Rest { benchmarks, .. } => {
            let (head, done) = resumed(folder, &here)?;
            (head, done, benchmarks)
        }
    };
    let request = AbRequest { benchmarks, ..head.request.clone() };
    for benchmark in &request.benchmarks {
        Metric::all(benchmark, &request.metrics)?;
    }
    if request.wakeups {
        // Says what is missing before anything is changed.
        Tracefs::of(host)?;
    }
    let mut journal = Journal::open(host)?;
    for line in journal.leftovers().lines(true) {
        say(&format!("an earlier session died: {line}"));
    }
    let arms = Arms::new(host, &request)?;
    let tracer = if request.wakeups { Some(Tracer::new(host, &mut journal, folder)?) } else { None };
    let file = if resumes { reopen(folder)? } else { begin(folder, &head)? };
    let start = clock::now();
    let limits = SharedLimits::of(host, start);
    let runner = Runner { host, watch, request: &request, folder, stop, start, limits, tracer };
    let number = done.iter().map(|r| r.number).max().unwrap_or(0);
    let mut session = Session { runner, arms, journal, file, number, path: folder.join(FILE) };
    let result = session.play(&done, say);
    let Session { mut journal, arms, .. } = session;
    let back = journal.restore();
    // The latency limit ends with this.
    drop(arms);
    result.and(back)
}

struct Session<'a> {
    runner: Runner<'a>,
    arms: Arms,
    journal: Journal,
    file: File,
    path: PathBuf,
    /// Of the last run.
    number: u32,
}

impl Session<'_> {
    fn play(&mut self, done: &[Run], say: &mut dyn FnMut(&str)) -> Result<(), LiveError> {
        let request = self.runner.request;
        // After an interruption, too: the machine is cold again.
        for benchmark in &request.benchmarks {
            for _ in 0..request.warm_up {
                say(&format!("{}: warming up", benchmark.name));
                let turn = Turn { round: 0, benchmark: 0, arm: 0 };
                self.one(turn, benchmark, Some("warm-up".to_owned()), say)?;
            }
        }
        let turns = order(request.repeat, request.benchmarks.len(), request.arms.len(), request.seed);
        for (i, turn) in turns.iter().enumerate() {
            let Some(benchmark) = request.benchmarks.get(turn.benchmark) else { continue };
            let made = |r: &Run| {
                r.left_out.is_none()
                    && (r.round, r.arm) == (turn.round, turn.arm)
                    && r.benchmark == benchmark.name
            };
            if !done.iter().any(made) {
                let arm = request.arms.get(turn.arm).map_or("", String::as_str);
                say(&format!("{} of {}: {} under {arm}", i + 1, turns.len(), benchmark.name));
                self.one(*turn, benchmark, None, say)?;
            }
        }
        Ok(())
    }

    /// One run that counts, with those before it that did not; or one that is not to count.
    fn one(
        &mut self,
        turn: Turn,
        benchmark: &Benchmark,
        left_out: Option<String>,
        say: &mut dyn FnMut(&str),
    ) -> Result<(), LiveError> {
        let request = self.runner.request;
        for attempt in 0..=request.retries {
            if let Some(arm) = self.arms.list.get(turn.arm).cloned() {
                self.arms.switch_to(&arm, &mut self.journal)?;
            }
            // Foreign load often ends by itself: longer each time, up to ten seconds.
            let rest = u64::from(request.settle_ms) << attempt.min(16);
            sleep(Duration::from_millis(rest.min(LONGEST_REST_MS.max(u64::from(request.settle_ms)))));
            if self.runner.stop.is_set() {
                return Err(LiveError::Interrupted);
            }
            self.number += 1;
            let mut run = self.runner.run(benchmark, self.number, &mut self.journal)?;
            (run.round, run.arm) = (turn.round, turn.arm);
            run.left_out.clone_from(&left_out);
            let lost = self.arms.list.get(turn.arm).and_then(|arm| self.arms.lost(arm));
            if let Some(change) = run.changed.take().or(lost) {
                say(&format!("run {} is left out: the machine changed meanwhile: {change}", run.number));
                run.left_out.get_or_insert_with(|| format!("the machine changed: {change}"));
                if attempt == request.retries && left_out.is_none() {
                    self.keep(&run)?;
                    let why = format!(
                        "the machine changed during each of {} runs of {}, at last: {change}; end what changes it, and go on \
                         with --resume",
                        attempt + 1,
                        benchmark.name
                    );
                    return Err(LiveError::Session { path: self.path.clone(), why });
                }
            }
            let limit = f64::from(request.foreign_pct);
            if run.foreign_pct + run.steal_pct > limit && attempt < request.retries {
                let whose = run.foreign_by.first().map(|n| format!(" ({n})")).unwrap_or_default();
                let load = format!(
                    "foreign load {} %{whose}, steal {} %",
                    share(run.foreign_pct, 0),
                    share(run.steal_pct, 0)
                );
                run.left_out.get_or_insert(load);
            }
            self.keep(&run)?;
            if left_out.is_some() || run.left_out.is_none() {
                break;
            }
        }
        Ok(())
    }

    fn keep(&mut self, run: &Run) -> Result<(), LiveError> {
        let text = serde_json::to_string(run).unwrap_or_default() + "\n";
        let written = self.file.write_all(text.as_bytes()).and_then(|()| self.file.sync_data());
        written.map_err(LiveError::io(&self.path))
    }
}

/// Starts a session's file in `folder`, which must be new or empty: results are never overwritten.
fn begin(folder: &Path, head: &Head) -> Result<File, LiveError> {
    fs::create_dir_all(folder).map_err(LiveError::io(folder))?;
    if fs::read_dir(folder).map_err(LiveError::io(folder))?.next().is_some() {
        let shown = folder.display();
        let why =
            format!("not empty; name a new folder, or continue the session in it with --resume {shown}");
        return Err(LiveError::file(folder, why));
    }
    let path = folder.join(FILE);
    let mut file = File::create_new(&path).map_err(LiveError::io(&path))?;
    let text = serde_json::to_string(head);
    let Ok(text) = text else { unreachable!("a session's head is no JSON: {text:?}") };
    let text = text + "\n";
    file.write_all(text.as_bytes()).map_err(LiveError::io(&path))?;
    Ok(file)
}

fn reopen(folder: &Path) -> Result<File, LiveError> {
    let path = folder.join(FILE);
    let file = idlewise_files::append(&path).map_err(LiveError::io(&path))?;
    // A line that was cut off when the session died is ended, and left out by whoever reads it.
    let mut last = [b'\n'];
    let length = file.metadata().map_err(LiveError::io(&path))?.len();
    if length > 0 {
        file.read_exact_at(&mut last, length - 1).map_err(LiveError::io(&path))?;
    }
    if last != *b"\n" {
        (&file).write_all(b"\n").map_err(LiveError::io(&path))?;
    }
    Ok(file)
}

/// A session to go on with: it must be of this machine.
fn resumed(at: &Path, here: &Head) -> Result<(Head, Vec<Run>), LiveError> {
    let Stored { head, runs, odd } = stored(at)?;
    let refused = |why: String| Err(LiveError::Session { path: at.to_owned(), why });
    if let Some(odd) = odd {
        return refused(format!("{odd}; only a complete session can be continued"));
    }
    if head.request != here.request {
        return refused("the session's file was changed meanwhile".to_owned());
    }
    let machine = |h: &Head| (h.kernel.clone(), h.driver.clone(), h.cpus);
    if machine(&head) != machine(here) {
        return refused(format!(
            "measured on another machine or kernel ({}, {}, {} CPUs); this one is {}, {}, {} CPUs",
            head.kernel, head.driver, head.cpus, here.kernel, here.driver, here.cpus
        ));
    }
    // The firmware may give other states to the same kernel and driver.
    if !head.states.is_empty() && head.states != here.states {
        return refused(format!(
            "measured with other idle states ({}); this machine has {}",
            head.states.join(" | "),
            here.states.join(" | ")
        ));
    }
    let (head, runs) = match runs.is_empty() {
        false => (head, runs),
        // Nothing but the head: as good as new, and the file is there already.
        true => (head, vec![Run { left_out: Some("nothing yet".to_owned()), ..Run::default() }]),
    };
    Ok((head, runs))
}

/// A folder in `parent` that is not there yet: `NAME-1`, `NAME-2` and so on.
#[must_use]
pub fn free_folder(parent: &Path, name: &str) -> PathBuf {
    let mut n = 1_u64;
    loop {
        let folder = parent.join(format!("{name}-{n}"));
        if fs::symlink_metadata(&folder).is_err() {
            return folder;
        }
        n += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_goes_on_under_its_own_idle_states_only() {
        let head = |states: &[&str]| Head {
            schema: SCHEMA.to_owned(),
            request: AbRequest {
                arms: ["menu", "teo"].map(str::to_owned).into(),
                benchmarks: vec![Benchmark {
                    name: "b".to_owned(),
                    command: vec!["true".to_owned()],
                    load: None,
                }],
                repeat: 3,
                ..AbRequest::default()
            },
            kernel: "6.12".to_owned(),
            driver: "acpi_idle".to_owned(),
            cpus: 2,
            states: states.iter().map(|s| (*s).to_owned()).collect(),
            governor: "menu".to_owned(),
        };
        let folder = tempfile::tempdir().unwrap();
        let with = |recorded: &Head, here: &Head| {
            fs::write(folder.path().join(FILE), serde_json::to_string(recorded).unwrap() + "\n").unwrap();
            resumed(folder.path(), here).map(|_| ()).map_err(|e| e.to_string())
        };
        let (old, new) = (head(&["POLL (0/0 us), C1 (1/1 us)"]), head(&["POLL (0/0 us), C1 (2/5 us)"]));
        assert_eq!(with(&old, &old), Ok(()));
        let refused = with(&old, &new).unwrap_err();
        assert!(refused.contains("C1 (1/1 us)") && refused.contains("C1 (2/5 us)"), "{refused}");
        // A file that does not say it.
        assert_eq!(with(&head(&[]), &new), Ok(()));
    }
}
