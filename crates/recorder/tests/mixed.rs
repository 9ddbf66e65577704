// SPDX-License-Identifier: GPL-2.0-only
//! A load that asks a governor in many ways, phase by phase.

#![allow(clippy::expect_used, clippy::unwrap_used, clippy::panic, reason = "a load of tests may fail loudly")]
#![expect(clippy::disallowed_methods, reason = "a load is as long as the clock says")]

use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// What a phase does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(dead_code, reason = "tests use some")]
pub(crate) enum Phase {
    /// Sleeps between these, us.
    Sleeps(u64, u64),
    /// Two threads wake each other through pipes.
    PingPong,
    /// Many threads at once, then nothing for a while.
    Bursts,
    /// A file is written through to the disk and read back.
    Disk,
    /// Sleeps with a latency limit of 0.
    NoLatency,
    /// Sleeps with a state disabled.
    Without(u32),
    /// Nothing.
    Idle,
}

/// All phases that change nothing on the machine.
pub(crate) const GENTLE: [Phase; 6] = [
    Phase::Sleeps(20, 20_000),
    Phase::PingPong,
    Phase::Bursts,
    Phase::Disk,
    Phase::Sleeps(20, 400),
    Phase::Idle,
];

/// Those, and such as change limits and states meanwhile.
#[allow(dead_code, reason = "tests use some")]
pub(crate) const ALL: [Phase; 11] = [
    Phase::Sleeps(20, 20_000),
    Phase::NoLatency,
    Phase::PingPong,
    Phase::Without(0),
    Phase::Bursts,
    Phase::Disk,
    Phase::Without(1),
    Phase::Sleeps(20, 400),
    Phase::NoLatency,
    Phase::Idle,
    Phase::Sleeps(1000, 9_000),
];

/// Goes through `phases`, each for `each`.
pub(crate) fn run(phases: &[Phase], each: Duration, folder: &Path) {
    for phase in phases {
        match phase {
            Phase::Sleeps(least, most) => sleepers(*least, *most, each),
            Phase::PingPong => ping_pong(each),
            Phase::Bursts => bursts(each),
            Phase::Disk => disk(each, folder),
            Phase::NoLatency => {
                let mut file = OpenOptions::new()
                    .write(true)
                    .open("/dev/cpu_dma_latency")
                    .expect("/dev/cpu_dma_latency");
                file.write_all(&0_i32.to_ne_bytes()).expect("a latency limit");
                sleepers(50, 5_000, each);
            }
            Phase::Without(state) => {
                let _back = Disabled::new(*state);
                sleepers(50, 5_000, each);
            }
            Phase::Idle => thread::sleep(each),
        }
    }
}

/// A state that is enabled again at the end.
struct Disabled(Vec<(PathBuf, String)>);

impl Disabled {
    fn new(state: u32) -> Self {
        let cpus = thread::available_parallelism().map_or(1, usize::from);
        let files = (0..cpus).map(|cpu| {
            PathBuf::from(format!("/sys/devices/system/cpu/cpu{cpu}/cpuidle/state{state}/disable"))
        });
        let before = files.map(|path| (path.clone(), fs::read_to_string(path).expect("disable"))).collect();
        let this = Self(before);
        for (path, _) in &this.0 {
            fs::write(path, "1").expect("disable");
        }
        this
    }
}

impl Drop for Disabled {
    fn drop(&mut self) {
        for (path, before) in &self.0 {
            let _ = fs::write(path, before);
        }
    }
}

/// Numbers that look random and are the same each time.
struct Dice(u64);

impl Dice {
    fn between(&mut self, least: u64, most: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        least + (self.0 >> 33) % (most - least + 1)
    }
}

fn sleepers(least: u64, most: u64, each: Duration) {
    let end = Instant::now() + each;
    let all: Vec<_> = (0..3)
        .map(|seed| {
            thread::spawn(move || {
                let mut dice = Dice(seed);
                while Instant::now() < end {
                    thread::sleep(Duration::from_micros(dice.between(least, most)));
                }
            })
        })
        .collect();
    all.into_iter().for_each(|t| t.join().expect("a sleeper"));
}

fn ping_pong(each: Duration) {
    let (mut from_left, mut to_right) = std::io::pipe().expect("a pipe");
    let (mut from_right, mut to_left) = std::io::pipe().expect("a pipe");
    let other = thread::spawn(move || {
        let mut byte = [0];
        while from_left.read_exact(&mut byte).is_ok() && to_left.write_all(&byte).is_ok() {}
    });
    let end = Instant::now() + each;
    let mut byte = [1];
    while Instant::now() < end {
        to_right.write_all(&byte).expect("ping");
        from_right.read_exact(&mut byte).expect("pong");
    }
    drop(to_right);
    other.join().expect("the other side");
}

fn bursts(each: Duration) {
    let end = Instant::now() + each;
    let mut dice = Dice(7);
    while Instant::now() < end {
        let all: Vec<_> = (0..6)
            .map(|_| {
                thread::spawn(|| {
                    let until = Instant::now() + Duration::from_micros(60);
                    while Instant::now() < until {}
                })
            })
            .collect();
        all.into_iter().for_each(|t| t.join().expect("a burst"));
        thread::sleep(Duration::from_micros(dice.between(500, 12_000)));
    }
}

fn disk(each: Duration, folder: &Path) {
    let path = folder.join("idlewise-mixed-load");
    let end = Instant::now() + each;
    let going = Arc::new(AtomicBool::new(true));
    let ticker = thread::spawn({
        let going = Arc::clone(&going);
        move || {
            while going.load(Ordering::Relaxed) {
                thread::sleep(Duration::from_millis(4));
            }
        }
    });
    let block = [0x5a; 4096];
    while Instant::now() < end {
        let mut file = File::create(&path).expect("a file");
        file.write_all(&block).expect("written");
        file.sync_all().expect("on the disk");
    }
    going.store(false, Ordering::Relaxed);
    ticker.join().expect("the ticker");
    let _ = fs::remove_file(path);
}
