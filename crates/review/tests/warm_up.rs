// SPDX-License-Identifier: GPL-2.0-only
//! A review takes the beginning of a simulated run off: what a run of the same seed did that ended then. Is that its beginning?

use std::fs::{self, File};

use idlewise_experiment::simulate::{SimulateRequest, TraceTo, simulate};
use idlewise_explain::convert::Form;
use idlewise_review::WORKLOADS;

#[test]
fn a_run_that_ends_earlier_is_the_beginning_of_one_that_ends_later() {
    let folder = tempfile::tempdir().unwrap();
    for (workload, platform) in WORKLOADS {
        let events = |milliseconds: u64| {
            let path = folder.path().join(format!("{workload}-{milliseconds}.txt"));
            let request = SimulateRequest {
                workload: workload.to_owned(),
                platform: platform.to_owned(),
                governors: vec!["teo".to_owned()],
                cpufreq: vec!["schedutil".to_owned()],
                signals: vec!["pelt".to_owned()],
                duration_ns: Some(milliseconds * 1_000_000),
                kernel: "6.12".to_owned(),
                seed: 7,
                repeat: 1,
                ..SimulateRequest::default()
            };
            let file = File::create(&path).unwrap();
            let to = TraceTo { form: Form::Text, file: &file, path: path.clone() };
            simulate(&request, Some(&to), &|_, _| {}).unwrap();
            let text = fs::read_to_string(path).unwrap();
            text.lines().filter(|l| !l.starts_with('#')).map(str::to_owned).collect::<Vec<_>>()
        };
        let (mut short, long) = (events(100), events(150));
        // At its end every CPU is woken.
        let time =
            |line: &String| line.split_whitespace().find(|word| word.ends_with(':')).map(str::to_owned);
        let end = short.last().and_then(time);
        short.retain(|line| time(line) != end);
        let (n, more) = (short.len(), long.len());
        assert!(n > 50 && more > n + 20, "{workload}: {n} events, then {more}");
        assert_eq!(short[..n - 1], long[..n - 1], "{workload}");
    }
}
