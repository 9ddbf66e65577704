// SPDX-License-Identifier: GPL-2.0-only
//! Scratch: sleep length of the tape against the truth.
use idlewise_lab::{Recording, RecordingOptions};
use idlewise_model::*;
use std::io::Read;
fn main() {
    let name = std::env::args().nth(1).unwrap();
    let dir = "/work/shared/traces/kvm-guest/";
    let opts = RecordingOptions { recorded_on: Some("kvm-guest".into()), kernel_governor: Some("menu".into()), otherwise: None };
    let rec = Recording::open(format!("{dir}{name}.dat").as_ref(), &opts).unwrap();
    let mut text = String::new();
    liblzma::read::XzDecoder::new(std::fs::File::open(format!("{dir}{name}.truth.csv.xz")).unwrap()).read_to_string(&mut text).unwrap();
    let mut lines = text.lines();
    let head: Vec<&str> = lines.next().unwrap().split(',').collect();
    let col = |n: &str| head.iter().position(|h| *h == n).unwrap();
    let rows: Vec<Vec<&str>> = lines.map(|l| l.split(',').collect::<Vec<_>>()).filter(|r| r[col("cpu")] == "0").collect();
    let cpu = &rec.tape.cpus[0];
    let t = cpu.tick.period_ns as i64;
    let (mut n, mut exact, mut side, mut unasked) = (0, 0, 0, 0);
    let mut lag_err: Vec<i64> = vec![];
    let mut ri = 0;
    let mut shown = 0;
    for p in &cpu.pieces {
        while ri < rows.len() && (rows[ri][col("ts_entry_ns")].parse::<i64>().unwrap()) < p.start_ns as i64 - 20_000 { ri += 1; }
        let Some(r) = rows.get(ri) else { break };
        let ts: i64 = r[col("ts_entry_ns")].parse().unwrap();
        if (ts - p.start_ns as i64).abs() > 20_000 { continue }
        let now = ts + r[col("idle_entry_rel")].parse::<i64>().unwrap();
        lag_err.push((p.start_ns as i64 - p.entry_lag_ns as i64) - now);
        let Ok(truth) = r[col("menu_sleep_length_ns")].parse::<i64>() else { unasked += 1; continue };
        n += 1;
        // as the idle loop would
        let mynow = p.start_ns as i64 - p.entry_lag_ns as i64;
        let tick = cpu.tick.after(now as u64) as i64;
        let stopped = p.flags.has(PieceFlags::STOPPED_BEFORE);
        let abs = |rel: i64| if rel == NEVER_NS { i64::MAX } else { p.start_ns as i64 + rel };
        let (h, w) = (abs(p.hrtimer_ns), abs(p.wheel_ns));
        let mine = if !stopped && (w <= tick || p.flags.has(PieceFlags::TICK_NEEDED)) { tick.min(h) } else { h.min(w) } - mynow;
        let truth_abs = truth + now;
        if (mine + mynow - truth_abs).abs() <= 1000 { exact += 1 }
        let same = (mine >= t) == (truth >= t);
        if same { side += 1 } else if shown < 25 {
            shown += 1;
            println!("{:.6} stopped {} after {} truth {} mine {} | hr {} wheel {} | truth: localj {} globalj {} tmigr {} flags {} wheelnext {} conf {:?} nswitch {}", p.start_ns as f64/1e9, stopped, p.flags.has(PieceFlags::STOPPED_AFTER), truth, mine, p.hrtimer_ns, if p.wheel_ns==NEVER_NS {-1} else {p.wheel_ns}, r[col("wheel_local_next_j")], r[col("wheel_global_next_j")], r[col("tmigr_wakeup_rel")], r[col("tmigr_flags")], r[col("wheel_next_timer_rel")], p.timer_confidence(), r[col("n_switch_out")]);
        }
    }
    lag_err.sort();
    println!("{name}: n {n} exact {:.2}% side {:.2}% unasked {unasked} now error p1 {} p50 {} p99 {}", exact as f64*100.0/n as f64, side as f64*100.0/n as f64, lag_err[lag_err.len()/100], lag_err[lag_err.len()/2], lag_err[lag_err.len()*99/100]);
}
