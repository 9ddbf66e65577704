// SPDX-License-Identifier: GPL-2.0-only

use idlewise_experiment::ExperimentError;
use idlewise_experiment::simulate::{pelt_of, signal_of};
use idlewise_signal::pelt::PeltError;
use idlewise_sim::Signal;

#[test]
fn signals_have_parameters_and_say_which() {
    let kernel = "6.12";
    assert!(
        matches!(signal_of("walt:window_ms=10", kernel).unwrap().1, Signal::Walt(c) if c.window_ns == 10_000_000)
    );
    let busy = |name: &str| match signal_of(name, kernel).unwrap().1 {
        Signal::Walt(c) => (c.task_demand, c.place_by_busy_time),
        Signal::Pelt => panic!("{name}"),
    };
    assert_eq!(["walt", "walt-3.18", "walt-rfc"].map(busy), [(true, false), (true, true), (false, true)]);
    assert!(signal_of("pelt:half_life_ms=8", kernel).is_ok());
    for (bad, words) in [
        ("pelt:half_life_ms=7", "32, 16 or 8"),
        ("walt:window_ms=5", "10 to 1000"),
        ("walt:half_life_ms=8", "window_ms"),
        ("pelt:clock_shift=x", "whole number"),
        ("plet", "did you mean `pelt`"),
    ] {
        assert!(signal_of(bad, kernel).unwrap_err().to_string().contains(words), "{bad}");
    }
    // A version, and one whose PELT is not known.
    assert!(matches!(pelt_of("4.2"), Err(ExperimentError::Pelt(PeltError::Kernel(4, 2)))));
    assert!(matches!(pelt_of("six"), Err(ExperimentError::Command(_))));
    for unknown in ["9.9", "7.4", "6.20", "5.20", "4.21", "6.4294967295"] {
        let said = pelt_of(unknown).unwrap_err().to_string();
        assert!(said.contains(unknown) && said.contains("6.0 to 6.19 and 7.0 to 7.3"), "{said}");
    }
    for known in ["4.3", "4.20", "5.19", "6.19", "7.0", "7.3"] {
        assert!(pelt_of(known).is_ok(), "{known}");
    }
}
