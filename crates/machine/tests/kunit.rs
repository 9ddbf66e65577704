// SPDX-License-Identifier: GPL-2.0-only
use idlewise_machine::boot::kunit_checks;

/// As KUnit prints it, with so many cases of ours that pass.
fn log(ours: usize, of_teo: &str) -> String {
    let passed: String = (1..=ours).map(|n| format!("[    0.2]     ok {n} chooses_as_expected\n")).collect();
    format!(
        "[    0.1] KTAP version 1\n[    0.1] 1..2\n[    0.1]     KTAP version 1\n[    0.1]     # Subtest: idlewise\n{passed}[    0.3] \
         ok 1 idlewise\n[    0.3]     # Subtest: idle-governor-teo\n[    0.3]     # disabled_1: EXPECTATION FAILED at x.c:7\n{of_teo}"
    )
}

#[test]
fn kunits_verdicts_are_told_by_suite() {
    let enough = 2 * idlewise_boot::governor_count();
    let checks = kunit_checks(&log(
        enough,
        "[    0.3]     not ok 1 disabled_1\n[    0.3]     ok 2 latency_2\n[    0.3] not ok 2 idle-governor-teo\n",
    ));
    let [ours, teo] = &checks[..] else { panic!("{checks:?}") };
    assert!(ours.holds && ours.found == format!("{} passed, 0 failed", enough + 1), "{ours:?}");
    assert_eq!(teo.what, "KUnit: teo.c keeps what `idlewise check` once found violated");
    assert!(!teo.holds, "{teo:?}");
    assert_eq!(teo.found, "1 passed, 2 failed: 1 disabled_1; 2 idle-governor-teo");
    let mended = "[    0.3]     ok 1 disabled_1\n[    0.3] ok 2 idle-governor-teo\n";
    assert!(kunit_checks(&log(enough, mended)).iter().all(|check| check.holds));
    // A suite that began and has no verdict, and too few of ours.
    assert!(kunit_checks(&log(3, "")).iter().all(|check| !check.holds));
    assert!(!kunit_checks("")[0].holds);
}
