// SPDX-License-Identifier: GPL-2.0-only
//! How far a boot lab is.

use std::io::{self, IsTerminal};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use idlewise_boot::Watch;

use crate::failure::Failure;
use crate::progress::Progress;
use crate::said::warn;

/// Shows what is being done: on a terminal in one line, else a line whenever something else begins. Ctrl-C ends what is
/// being done, and with it the command.
pub struct BootWatch {
    stopped: Arc<AtomicBool>,
    progress: Option<Progress>,
    last: Mutex<String>,
    /// Since when, and how many of how many guests are booted.
    boots: Mutex<Option<(Instant, usize, usize)>>,
}

impl BootWatch {
    /// # Errors
    /// [`Failure`] where Ctrl-C cannot be handled.
    pub fn new() -> Result<Self, Failure> {
        let stopped = Arc::new(AtomicBool::new(false));
        let stop = Arc::clone(&stopped);
        ctrlc::set_handler(move || stop.store(true, Ordering::Relaxed)).map_err(|e| e.to_string())?;
        let progress = io::stderr().is_terminal().then(|| Progress::new("shell"));
        Ok(Self { stopped, progress, last: Mutex::new(String::new()), boots: Mutex::new(None) })
    }

    /// `what`, and where several guests are booted, which it is and how long they will take.
    fn with_count(&self, what: &str) -> String {
        match self.boots.lock().ok().and_then(|boots| *boots) {
            Some((since, done, of)) if done < of && of > 1 => {
                let left = if done == 0 {
                    String::new()
                } else {
                    let seconds = since.elapsed().as_secs_f64() / done as f64 * (of - done) as f64;
                    format!(", about {} min left", (seconds / 60.0).ceil())
                };
                format!("{what}, {} of {of}{left}", done + 1)
            }
            _ => what.to_owned(),
        }
    }
}

impl Watch for BootWatch {
    #[expect(clippy::disallowed_methods, reason = "how long it will take is about real time")]
    fn booted(&self, done: usize, of: usize) {
        if let Ok(mut boots) = self.boots.lock() {
            let since = boots.map_or_else(Instant::now, |(since, ..)| since);
            *boots = Some((since, done, of));
        }
    }

    fn doing(&self, what: &str) {
        let what = &self.with_count(what);
        if let Some(progress) = &self.progress {
            progress.say(what);
            return;
        }
        // Counts after a colon change often; one line for all of them.
        let kind = what.split(':').next().unwrap_or(what);
        if let Ok(mut last) = self.last.lock()
            && *last != kind
        {
            warn(kind);
            kind.clone_into(&mut last);
        }
    }

    fn stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }
}
