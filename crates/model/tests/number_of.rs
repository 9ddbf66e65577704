// SPDX-License-Identifier: GPL-2.0-only
//! Does one of a kind stand in the singular?

use idlewise_model::number_of;

#[test]
fn one_has_no_plural() {
    let said = [0, 1, 2]
        .map(|n| [number_of(n, "event"), number_of(n, "idle entry"), number_of(n, "delay")].join(", "));
    assert_eq!(
        said,
        [
            "0 events, 0 idle entries, 0 delays",
            "1 event, 1 idle entry, 1 delay",
            "2 events, 2 idle entries, 2 delays"
        ]
    );
}
