// SPDX-License-Identifier: GPL-2.0-only
//! Limits that the shell or the system sets for the process.

use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{Sender, channel};
use std::thread;

use rayon::{ThreadBuilder, ThreadPoolBuilder};
use signal_hook::consts::SIGXFSZ;

use crate::output::warn;

/// Lets a write that meets `ulimit -f` fail with EFBIG. The signal is handled and not ignored, so that commands that are started get
/// its default back.
pub(crate) fn survive_file_limits() {
    // Where no handler can be set, the signal ends the command as it always does.
    let _ = signal_hook::flag::register(SIGXFSZ, Arc::new(AtomicBool::new(false)));
}

/// Starts the threads that replay, simulate and compare: as many as can be had, where there are limits. Results do not depend on
/// their number.
pub(crate) fn start_threads() {
    let (mut threads, failure) = idle_threads();
    let count = threads.len();
    if let Some(why) = failure {
        let all_work = match count {
            0 => "this one does all the work".to_owned(),
            n => format!("{n} do all the work"),
        };
        warn(&format!(
            "no more threads can be started ({why}): {all_work}, with the same result; `ulimit -u` and the cgroup's pids.max \
             limit their number"
        ));
    }
    let next = |work: ThreadBuilder| {
        let given = threads.pop().is_some_and(|thread| thread.send(work).is_ok());
        if given { Ok(()) } else { Err(io::ErrorKind::NotFound.into()) }
    };
    let pool = match count {
        0 => ThreadPoolBuilder::new().num_threads(1).use_current_thread().build_global(),
        n => ThreadPoolBuilder::new().num_threads(n).spawn_handler(next).build_global(),
    };
    assert!(pool.is_ok(), "the threads are there: {pool:?}");
}

/// Threads that wait for their work: one for each CPU, or as many as could be started, and why not more.
fn idle_threads() -> (Vec<Sender<ThreadBuilder>>, Option<io::Error>) {
    let wanted = thread::available_parallelism().map_or(1, usize::from);
    let mut threads = Vec::new();
    for _ in 0..wanted {
        let (give, work) = channel::<ThreadBuilder>();
        let run = move || work.recv().map_or((), ThreadBuilder::run);
        match thread::Builder::new().spawn(run) {
            Ok(_) => threads.push(give),
            Err(why) => return (threads, Some(why)),
        }
    }
    (threads, None)
}
