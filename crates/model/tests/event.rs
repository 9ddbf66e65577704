// SPDX-License-Identifier: GPL-2.0-only
use idlewise_model::EventKind;

#[test]
fn an_event_is_as_long_as_its_longest_kind_needs() {
    assert_eq!(size_of::<EventKind>(), 56);
}
