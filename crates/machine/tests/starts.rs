// SPDX-License-Identifier: GPL-2.0-only
use idlewise_machine::boot::starts;

#[test]
fn the_first_is_booted_alone_in_as_many_further_starts() {
    let all = ["base", "+1"];
    assert_eq!(starts(None, true, &all), [(None, &all[..])]);
    assert_eq!(starts(Some(2), false, &all), [(Some(1), &all[..]), (Some(2), &all[..])]);
    let further = starts(Some(2), true, &all);
    assert_eq!(further[..2], [(Some(1), &all[..]), (Some(2), &all[..])]);
    assert_eq!(further[2..], [(Some(3), &all[..1]), (Some(4), &all[..1])]);
    assert_eq!(starts::<&str>(Some(1), true, &[]), [(Some(1), &[][..])]);
}
