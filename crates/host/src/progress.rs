// SPDX-License-Identifier: GPL-2.0-only
//! How far a command is.

use std::fmt;
use std::thread;
use std::time::Duration;

use idlewise_machine::advise;
use idlewise_recording::Meter;
use idlewise_report::one_line;
use indicatif::{HumanDuration, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};

use crate::caller::{Listener, is_called, listener, step};

/// Progress on standard error, shown only on a terminal and only when it takes longer than a second.
pub struct Progress {
    bar: ProgressBar,
    /// Hears of it instead, where a program called.
    listener: Option<Listener>,
}

/// Parts of what is read, where only a share is known.
const PARTS: u64 = 1000;

impl Progress {
    /// `what` is being done; how far it is may be reported by [`Progress::step`] later.
    pub fn new(what: &'static str) -> Self {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
        if let Ok(style) = ProgressStyle::with_template("{spinner} {msg} {elapsed}") {
            bar.set_style(style);
        }
        bar.set_message(what);
        let listener = listener();
        if is_called() {
            return Self { bar, listener };
        }
        let later = bar.clone();
        // Where no thread can be had, nothing is shown.
        let _ = thread::Builder::new().spawn(move || {
            thread::sleep(Duration::from_secs(1));
            if !later.is_finished() {
                later.set_draw_target(ProgressDrawTarget::stderr());
                later.enable_steady_tick(Duration::from_millis(200));
            }
        });
        Self { bar, listener }
    }

    /// As [`Progress::new`] of `what` reads the traces that `meter` counts.
    pub fn reading(what: &'static str, meter: &Meter) -> Self {
        let progress = Self::new(what);
        let meter = meter.clone();
        if let Some(listener) = progress.listener.clone() {
            progress.listen(what, meter, listener);
            return progress;
        }
        progress.show_share("{spinner} {msg} {share}{elapsed}{left}", move |_| meter.share());
        progress
    }

    /// Tells the listener from time to time how much is read.
    fn listen(&self, what: &'static str, meter: Meter, listener: Listener) {
        let bar = self.bar.clone();
        // Where no thread can be had, it hears nothing.
        let _ = thread::Builder::new().spawn(move || {
            while !bar.is_finished() && bar.length().is_none() {
                // What ends the call is heard at the next step.
                let share = meter.share().unwrap_or(0.0);
                listener(what, (share * PARTS as f64) as u64, PARTS);
                thread::sleep(Duration::from_millis(200));
            }
        });
    }

    /// Something else is being done.
    pub fn say(&self, what: &str) {
        self.bar.set_message(one_line(what).into_owned());
    }

    /// `done` of `of` parts of `what` are done.
    pub fn step(&self, what: &str, done: usize, of: usize) {
        if let Some(listener) = &self.listener {
            self.bar.set_length(of as u64);
            return step(listener, what, done as u64, of as u64);
        }
        if self.bar.length().is_none() {
            let share = |state: &ProgressState| Some(state.pos() as f64 / state.len()?.max(1) as f64);
            self.show_share("{spinner} {msg} {bar:30} {share}{elapsed}{left}", share);
        }
        self.bar.set_message(one_line(what).into_owned());
        self.bar.set_length(of as u64);
        self.bar.set_position(done as u64);
    }

    /// From now on, shows how far it is by `share`, and the time left.
    fn show_share(
        &self,
        form: &str,
        share: impl Fn(&ProgressState) -> Option<f64> + Clone + Send + Sync + 'static,
    ) {
        let begun = self.bar.elapsed();
        let known = share.clone();
        let per_cent = move |state: &ProgressState, out: &mut dyn fmt::Write| {
            let _ = known(state).map_or(Ok(()), |share| write!(out, "{:.0} % ", 100.0 * share));
        };
        let left = move |state: &ProgressState, out: &mut dyn fmt::Write| {
            // The first hundredth says nothing of the rest.
            let Some(share) = share(state).filter(|share| *share > 0.01) else { return };
            let left = state.elapsed().saturating_sub(begun).mul_f64((1.0 - share).max(0.0) / share);
            let _ = write!(out, ", {:#} left", HumanDuration(left));
        };
        if let Ok(style) = ProgressStyle::with_template(form) {
            self.bar.set_style(style.with_key("share", per_cent).with_key("left", left));
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

impl advise::Progress for Progress {
    fn say(&self, what: &str) {
        Progress::say(self, what);
    }

    fn step(&self, what: &'static str, done: usize, of: usize) {
        Progress::step(self, what, done, of);
    }
}
