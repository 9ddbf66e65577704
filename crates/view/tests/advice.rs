// SPDX-License-Identifier: GPL-2.0-only
//! Does the page of an advice begin with the answer, and warn before anything that depends on what it warns of?

use idlewise_machine::advise::{Evidence, Situation, judge};
use idlewise_model::{NotKnown, NoteId};
use idlewise_report::Format;

#[test]
fn a_page_without_advice_says_so_first_and_sets_nothing() {
    let mut a = judge(&Evidence {
        situation: Situation::default(),
        load: "timer".to_owned(),
        candidates: Vec::new(),
        entered: None,
        replay: Err(NotKnown::because(NoteId::Failed, "no recording")),
        ab: Err(NotKnown::because(NoteId::NeedsRoot, "needs root")),
    });
    a.machine_warnings = vec![NoteId::OtherProcessor.note("the recording is of Arm")];
    let page = idlewise_view::advise(&a).render(Format::Table, &a).unwrap();
    assert!(page.starts_with("advice    none\n") && !page.contains("set now"), "{page}");
    let at = |words: &str| page.find(words).unwrap_or_else(|| panic!("no {words:?} in {page}"));
    assert!(at("because") < at("WARNING") && at("WARNING") < at("untested"), "{page}");
}
