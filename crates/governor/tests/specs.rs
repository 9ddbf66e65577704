// SPDX-License-Identifier: GPL-2.0-only
//! Is a governor with its parameters read as it is written?

use idlewise_governor::Spec;

#[test]
fn text_survives_a_round_trip() {
    for text in [
        "menu",
        "teo-util:util_threshold_shift=5",
        "a:b=1,c=-2,d=0x10",
        "./a:b/teo.c:x=1",
        "linux:6.12",
        "linux:6.12/teo:x=1,y=2",
        "linux:/teo",
    ] {
        assert_eq!(text.parse::<Spec>().unwrap().to_string(), text);
    }
}

#[test]
fn a_colon_in_a_folder_or_a_version_begins_no_parameters() {
    let id = |text: &str| text.parse::<Spec>().unwrap().id;
    assert_eq!(id("/x/a:b/teo.c:x=1"), "/x/a:b/teo.c");
    assert_eq!(id("teo.c:x=1"), "teo.c");
    assert_eq!(id("linux:6.12.117"), "linux:6.12.117");
    assert_eq!(id("linux:6.12/teo:x=1"), "linux:6.12/teo");
    assert_eq!(id("linux:x=1"), "linux");
}

#[test]
fn malformed_text_is_refused_with_the_reason() {
    for (text, word) in
        [("", "id"), (":a=1", "id"), ("teo:", "without `=`"), ("teo:=1", "name"), ("teo:a=1,a=2", "twice")]
    {
        let said = text.parse::<Spec>().unwrap_err().to_string();
        assert!(said.contains(word), "{text}: {said}");
    }
}
