// SPDX-License-Identifier: GPL-2.0-only
//! Is a simulated run like that of a kernel that was booted in the lab?

use std::io::Read as _;
use std::path::{Path, PathBuf};

use idlewise_experiment::beside::{Pair, beside};
use idlewise_experiment::simulate::SimulateRequest;
use idlewise_machine::boot::guest;
use idlewise_recording::RecordingOptions;

/// What a guest that is an RK3399 did, cut to what readers look at: the load, the kernel's governor, the recording.
struct Run {
    load: &'static str,
    governor: &'static str,
    recording: &'static str,
    seconds: u64,
}

const STAGES: Run = Run {
    load: "docs/guide/example/beside/stages.json",
    governor: "teo",
    recording: "tests/data/lab/stages-teo.txt.xz",
    seconds: 2,
};

/// 0.45 seconds of it; the simulation has fio's setting up before it reads, too, of which little is compared.
const READS: Run = Run {
    load: "docs/guide/example/beside/reads.json",
    governor: "menu-6.1",
    recording: "tests/data/lab/reads-menu.txt.xz",
    seconds: 4,
};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn laid_beside(run: &Run) -> Pair {
    let machine = guest(&idlewise_platform::find("rk3399").unwrap(), false);
    let folder = tempfile::tempdir().unwrap();
    let (trace, toml) = (folder.path().join("recording.txt"), folder.path().join("machine.toml"));
    let mut text = String::new();
    let file = std::fs::File::open(root().join(run.recording)).unwrap();
    liblzma::read::XzDecoder::new(file).read_to_string(&mut text).unwrap();
    std::fs::write(&trace, text).unwrap();
    std::fs::write(&toml, machine.to_toml()).unwrap();
    let asked = SimulateRequest {
        workload: root().join(run.load).display().to_string(),
        cpufreq: vec!["performance".to_owned()],
        signals: vec!["pelt".to_owned()],
        kernel: "6.12".to_owned(),
        duration_ns: Some(run.seconds * 1_000_000_000),
        seed: 1,
        ..SimulateRequest::default()
    };
    let options = RecordingOptions {
        recorded_on: Some(toml.display().to_string()),
        kernel_governor: Some(run.governor.to_owned()),
        ..RecordingOptions::default()
    };
    beside(&asked, &[trace], &options, &|_| {}).unwrap().pairs.remove(0)
}

#[test]
fn a_booted_kernel_and_its_simulation_are_within_two_points() {
    let pair = laid_beside(&STAGES);
    let [deep, shallow] = pair.gap();
    assert!(deep.abs() < 2.0 && shallow.abs() < 2.0, "too deep {deep:+.2}, too shallow {shallow:+.2}");
    let (real, simulated) = (pair.real.wakeups_per_s, pair.simulated.wakeups_per_s);
    assert!((real - simulated).abs() < 0.05 * real, "{real} wakeups/s, {simulated}");
    // Tasks that run at once take as long as there.
    let latency = |name: &str, tasks: &[idlewise_experiment::beside::TaskMeasures]| {
        tasks.iter().find(|t| t.name == name).unwrap().latency_p50_ns as f64
    };
    for name in ["ui", "audio", "background"] {
        let (a, b) = (latency(name, &pair.real.tasks), latency(name, &pair.simulated.tasks));
        assert!((a - b).abs() < 6_000.0, "{name}: {a} ns, {b} ns");
    }
}

#[test]
fn ticks_that_rcu_keeps_in_idle_are_simulated() {
    let pair = laid_beside(&READS);
    let [deep, shallow] = pair.gap();
    assert!(deep.abs() < 2.0 && shallow.abs() < 2.0, "too deep {deep:+.2}, too shallow {shallow:+.2}");
    let (real, simulated) = (pair.real.wakeups_per_s, pair.simulated.wakeups_per_s);
    assert!((real - simulated).abs() < 0.1 * real, "{real} wakeups/s, {simulated}");
}
