// SPDX-License-Identifier: GPL-2.0-only
//! The time in which the command runs.

use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open};

use super::look::monotonic;
use super::plan::Plan;
use super::spool::Spool;
use super::stop::Stop;
use idlewise_live::{Journal, LiveError};

/// How long a command that was asked to end may take.
const GRACE: Duration = Duration::from_secs(2);
/// How often a recording looks up that tells how far it is.
const TELL: Duration = Duration::from_secs(1);
/// How long an event stays in the kernel's buffers at most: so much is lost if the machine dies.
const KEEP: Duration = Duration::from_secs(5);
/// Fewer pages than this, and the kernel has woken us for little: we look by the clock for a while.
const LITTLE: u64 = 16;
/// For so long first, then longer and longer, in case the kernel always does.
const REST: Duration = Duration::from_millis(10);
const LONGEST_REST: Duration = Duration::from_millis(250);

/// How a recording came to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// The command did, with this status.
    Command(ExitStatus),
    /// Its time was up. With a command: it was asked to end.
    Time,
    /// It was stopped by a signal. With a command: it was asked to end, if it did not by itself.
    Asked,
}

impl Ended {
    /// The exit status that a shell would give for it: that of the command, 128 and the signal's number if one ended it; 0
    /// where the recording ended as it should.
    #[must_use]
    pub fn code(self) -> u8 {
        match self {
            Self::Command(status) => {
                let code = status.code().or_else(|| status.signal().map(|s| 128 + s));
                code.and_then(|c| u8::try_from(c).ok()).unwrap_or(1)
            }
            Self::Time | Self::Asked => 0,
        }
    }
}

/// How far a recording is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    pub elapsed: Duration,
    /// Bytes taken out of the buffers so far, because they would have overflowed.
    pub bytes: u64,
}

/// The command while it runs.
struct Running {
    child: Child,
    /// Becomes readable at its end.
    over: OwnedFd,
}

impl Running {
    fn start(command: &[std::ffi::OsString], journal: &mut Journal) -> Result<Option<Self>, LiveError> {
        let Some((program, args)) = command.split_first() else { return Ok(None) };
        let cannot = |e: std::io::Error| LiveError::Command {
            why: format!("{}: cannot be run: {e}", program.to_string_lossy()),
        };
        let mut child = journal.start(Command::new(program).args(args)).map_err(cannot)?;
        match pidfd_open(Pid::from_child(&child), PidfdFlags::empty()) {
            Ok(over) => Ok(Some(Self { child, over })),
            Err(e) => {
                let _ = child.kill();
                let _ = child.wait();
                Err(LiveError::lacks(format!("recording around a command needs pidfd_open (Linux 5.3): {e}")))
            }
        }
    }

    fn signal(&self, signal: Signal) {
        // It may just have ended.
        let _ = kill_process(Pid::from_child(&self.child), signal);
    }
}

/// Runs the command and takes what the buffers hold when they fill up, until the end.
pub(super) fn through(
    plan: &Plan,
    spool: &mut Spool,
    stop: &mut Stop,
    journal: &mut Journal,
    progress: &mut dyn FnMut(&Progress),
) -> Result<Ended, LiveError> {
    let mut running = Running::start(&plan.command, journal)?;
    let result = wait(plan, running.as_mut(), spool, stop, progress);
    if result.is_err()
        && let Some(running) = &mut running
    {
        let _ = running.child.kill();
        let _ = running.child.wait();
    }
    journal.ended();
    result
}

fn wait(
    plan: &Plan,
    mut running: Option<&mut Running>,
    spool: &mut Spool,
    stop: &mut Stop,
    progress: &mut dyn FnMut(&Progress),
) -> Result<Ended, LiveError> {
    let start = monotonic();
    // What is done next to make the command end, and when.
    let mut end = plan.limit.map(|limit| (start + limit, Signal::TERM));
    let mut cause = None;
    // The kernel wakes us for little until then.
    let mut resting_until = start;
    let mut rest = REST;
    let mut keep_at = start + KEEP;
    loop {
        let now = monotonic();
        let resting = resting_until > now;
        let tell = plan.tell.then_some(now + TELL);
        let next = [end.map(|(at, _)| at), resting.then_some(resting_until), tell, Some(keep_at)];
        let next = next.into_iter().flatten().min().map(|at| at.saturating_sub(now));
        let woken = sleep(running.as_deref(), spool, stop, resting, next)?;
        let now = monotonic();
        if woken.over
            && let Some(r) = running.as_mut()
        {
            let status = r.child.wait().map_err(LiveError::io(Path::new("the command's end")))?;
            return Ok(cause.unwrap_or(Ended::Command(status)));
        }
        if woken.asked {
            stop.heard();
            // A terminal asks the command, too: it may end by itself. Whoever asks again means it.
            end = Some(match cause {
                None => (now + GRACE, Signal::TERM),
                Some(_) => (now, Signal::KILL),
            });
            if running.is_none() {
                return Ok(Ended::Asked);
            }
            cause = Some(Ended::Asked);
        }
        if let Some((at, signal)) = end
            && at <= now
        {
            let Some(r) = running.as_deref() else { return Ok(Ended::Time) };
            r.signal(signal);
            cause = cause.or(Some(Ended::Time));
            end = (signal != Signal::KILL).then_some((now + GRACE, Signal::KILL));
        }
        let mut pages = 0;
        for at in &woken.ready {
            pages += spool.take(*at, false)?;
        }
        if pages >= LITTLE {
            rest = REST;
        } else if !woken.ready.is_empty() {
            resting_until = monotonic() + rest;
            rest = (2 * rest).min(LONGEST_REST);
        }
        if now >= keep_at {
            spool.take_each()?;
            keep_at = monotonic() + KEEP;
        }
        if plan.tell {
            progress(&Progress { elapsed: now.saturating_sub(start), bytes: spool.bytes() });
        }
    }
}

/// What ended a sleep; nothing if its time was over.
#[derive(Default)]
struct Woken {
    over: bool,
    /// A request to stop.
    asked: bool,
    /// Buffers that are half full, by number; those that may have something where the kernel is not asked.
    ready: Vec<usize>,
}

/// Sleeps until something happens, for `most` at most. `resting`: the buffers are not waited for, but looked at in the end.
fn sleep(
    running: Option<&Running>,
    spool: &Spool,
    stop: &Stop,
    resting: bool,
    most: Option<Duration>,
) -> Result<Woken, LiveError> {
    let mut fds = vec![PollFd::new(stop, PollFlags::IN)];
    fds.extend(running.map(|r| PollFd::new(&r.over, PollFlags::IN)));
    let first_buffer = fds.len();
    if !resting {
        fds.extend(spool.pages().map(|f| PollFd::from_borrowed_fd(f, PollFlags::IN)));
    }
    let most = most.map(|d| Timespec { tv_sec: d.as_secs() as i64, tv_nsec: d.subsec_nanos().into() });
    match poll(&mut fds, most.as_ref()) {
        Ok(_) => {}
        Err(rustix::io::Errno::INTR) => return Ok(Woken::default()),
        Err(e) => return Err(LiveError::io(Path::new("waiting for trace buffers"))(e.into())),
    }
    let seen: Vec<bool> = fds.iter().map(|f| f.revents().contains(PollFlags::IN)).collect();
    let ready = if resting {
        (0..spool.pages().count()).collect()
    } else {
        (0..).zip(seen.iter().skip(first_buffer)).filter(|(_, seen)| **seen).map(|(at, _)| at).collect()
    };
    Ok(Woken {
        asked: seen.first().copied().unwrap_or(false),
        over: running.is_some() && seen.get(1).copied().unwrap_or(false),
        ready,
    })
}
