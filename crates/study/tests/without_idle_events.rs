// SPDX-License-Identifier: GPL-2.0-only
//! Recordings of the scheduler alone: what governors would have done can be asked, what the kernel did cannot.

use idlewise_model::{Piece, TapeCpu};
use idlewise_study::replay::Per;
use idlewise_study::score::score;
use idlewise_testkit::{error_text, known, open, recording, request, run};

/// An x86 machine of eight CPUs, `sched` events only.
const SCHED_ONLY: &str = "trace-dat/x86_610_v7.dat";

#[test]
fn governors_can_be_replayed_on_the_time_of_the_idle_task() {
    let Some(path) = recording(SCHED_ONLY) else { return };
    let tape = open(&path, "skylake", "menu").tape;
    let used: Vec<_> = tape.cpus.iter().filter(|c| c.usable == TapeCpu::Usable).collect();
    assert!(!used.is_empty());
    assert!(used.iter().flat_map(|c| c.pieces.to_vec().unwrap()).all(|p| p.state == Piece::NO_STATE));
    for platform in ["skylake", "pixel6"] {
        let mut asked = request(&[&path], "skylake", "menu", &["menu", "shallow", "oracle"]);
        asked.setup.platform = Some(platform.to_owned());
        asked.setup.cluster = (platform == "pixel6").then(|| "BIG".to_owned());
        let report = run(&asked);
        let trace = &report.traces[0];
        assert!(trace.head.notes.iter().any(|n| n.contains("no cpu_idle events")), "{:?}", trace.head.notes);
        assert!(trace.governors.iter().all(|g| g.failure.is_none() && g.score.wakeups > 100), "{platform}");
        if platform == "skylake" {
            let why = trace.fidelity.clone().unwrap_err();
            assert!(why.why().contains("cpu_idle"), "{why}");
        }
    }
}

#[test]
fn the_kernels_choices_cannot_be_scored_and_the_refusal_says_what_is_missing() {
    let Some(path) = recording(SCHED_ONLY) else { return };
    let text = error_text(score(&path, &known("skylake", ""), Per::All, None));
    for part in ["x86_610_v7.dat", "cpu_idle", "residency by state", "replay"] {
        assert!(text.contains(part), "no {part:?} in {text}");
    }
}
