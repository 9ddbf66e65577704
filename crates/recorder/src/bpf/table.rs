// SPDX-License-Identifier: GPL-2.0-only
//! Decisions as a table: the columns of `docs/reference/decisions-format.md`.

use std::fmt::Write as _;
use std::io::{self, Write};

use super::decision::{Decision, Memory, NEVER_NS};

/// Writes decisions as CSV, one row each.
pub struct Table<W> {
    out: W,
    /// The head is written with the first row: which columns there are depends on what the governor remembers.
    begun: bool,
    row: String,
}

const COLUMNS: &str = "cpu,ts_entry_ns,given_up,state,latency_req0,latency_limit_ns,disabled,dis0,dis1,tick_stopped_before,\
tick_stopped_after,idle_calls_delta,n_switch_out,got_tick_prev,prev_state,prev_residency_ns,poll_time_limit_prev,poll_limit_ns,\
idle_entry_rel,next_hrtimer_rel,hrt_expires_next_rel,delta_tick_ns,exit_rel_ns,residency_ns,entered,above_inc,below_inc,\
rejected_inc,nr_iowait";

impl<W: Write> Table<W> {
    /// A table that goes to `out`.
    pub fn new(out: W) -> Self {
        Self { out, begun: false, row: String::new() }
    }

    /// Adds a row.
    ///
    /// # Errors
    /// What `out` says.
    pub fn row(&mut self, d: &Decision) -> io::Result<()> {
        if !self.begun {
            self.begin(&d.memory)?;
        }
        self.row.clear();
        push(&mut self.row, d);
        self.row.push('\n');
        self.out.write_all(self.row.as_bytes())
    }

    /// Hands on what was written so far.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }

    fn begin(&mut self, memory: &Memory) -> io::Result<()> {
        self.begun = true;
        write!(self.out, "{COLUMNS}")?;
        match memory {
            Memory::None => {}
            Memory::Menu(menu) => {
                write!(self.out, ",menu_sleep_length_ns,menu_bucket,menu_tick_wakeup,menu_interval_ptr")?;
                for i in 0..menu.factors.len() {
                    write!(self.out, ",menu_cf{i}")?;
                }
                for i in 0..menu.intervals.len() {
                    write!(self.out, ",menu_iv{i}")?;
                }
            }
            Memory::Ladder(counts) => {
                for i in 0..counts.len() {
                    write!(self.out, ",ladder_promotions{i},ladder_demotions{i}")?;
                }
            }
        }
        writeln!(self.out)
    }

    /// Ends the table and hands back where it went.
    ///
    /// # Errors
    /// What `out` says.
    pub fn finish(mut self) -> io::Result<W> {
        if !self.begun {
            self.begin(&Memory::None)?;
        }
        self.out.flush()?;
        Ok(self.out)
    }
}

/// Writing to a string cannot fail.
fn push(row: &mut String, d: &Decision) {
    let at = d.at_ns.cast_signed();
    let state = d.state.map_or_else(String::new, |s| s.to_string());
    let limit = d.latency_limit_ns.map_or_else(String::new, |ns| ns.to_string());
    let disabled = |i: u16| d.disabled >> i & 1;
    let _ = write!(
        row,
        "{},{},{},{state},{},{limit},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}",
        d.cpu,
        d.at_ns,
        u8::from(d.state.is_none()),
        u8::from(d.latency_limit_ns == Some(0)),
        d.disabled,
        disabled(0),
        disabled(1),
        u8::from(d.tick_stopped_before),
        u8::from(d.tick_stopped_after),
        d.idle_calls,
        u8::from(d.new_visit),
        u8::from(d.got_tick),
        d.last_state,
        d.last_residency_ns,
        u8::from(d.poll_time_limit),
        d.poll_limit_ns,
        d.now_ns.wrapping_sub(at),
        relative(d.next_event_ns, at),
        relative(d.next_event_before_ns, at),
        relative(d.next_event_before_ns, d.now_ns),
    );
    match &d.outcome {
        None => row.push_str(",,,,,,"),
        Some(o) => {
            let entered = o.entered.map_or_else(String::new, |s| s.to_string());
            let flags = [o.above, o.below, o.rejected].map(u8::from);
            let [above, below, rejected] = flags;
            let _ = write!(row, ",{},{},{entered},{above},{below},{rejected}", o.exit_ns, o.residency_ns);
        }
    }
    let iowait = d.iowait.map_or_else(String::new, |n| n.to_string());
    let _ = write!(row, ",{iowait}");
    match &d.memory {
        Memory::None => {}
        Memory::Menu(menu) => {
            let sleep = menu.sleep_length_ns.map_or_else(String::new, |ns| ns.to_string());
            let _ = write!(row, ",{sleep},{},{},{}", menu.bucket, u8::from(menu.tick_wakeup), menu.slot);
            for n in menu.factors.iter().chain(&menu.intervals) {
                let _ = write!(row, ",{n}");
            }
        }
        Memory::Ladder(counts) => {
            for (up, down) in counts {
                let _ = write!(row, ",{up},{down}");
            }
        }
    }
}

/// `time` from `since` on; empty for no timer.
fn relative(time: i64, since: i64) -> String {
    if time == NEVER_NS { String::new() } else { time.wrapping_sub(since).to_string() }
}
