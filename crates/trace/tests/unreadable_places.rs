// SPDX-License-Identifier: GPL-2.0-only
//! Is a place of a file that the system cannot read named, and none taken for the end of the trace?

use std::collections::BTreeMap;
use std::fs;
use std::thread;

use idlewise_trace::TraceFile;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
};

use crate::common::writer::samples::small;
use crate::common::writer::{Dat, Packed};

/// From now on this thread reads no file at `from` or behind, as if the disk were worn there.
fn wear_out(from: u64) {
    let far = SeccompCondition::new(3, SeccompCmpArgLen::Qword, SeccompCmpOp::Ge, from).unwrap();
    let rules = BTreeMap::from([(libc::SYS_pread64, vec![SeccompRule::new(vec![far]).unwrap()])]);
    let refused = SeccompAction::Errno(libc::EIO.unsigned_abs());
    let arch = std::env::consts::ARCH.try_into().unwrap();
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, refused, arch).unwrap();
    seccompiler::apply_filter(&BpfProgram::try_from(filter).unwrap()).unwrap();
}

#[test]
fn a_place_that_cannot_be_read_is_remembered() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trace.dat");
    let dat = Dat { version: 6, packed: Packed::No, ..small() };
    let bytes = dat.write();
    fs::write(&path, &bytes).unwrap();
    // Four pages of CPU 0 stand before two of CPU 3, which end the file.
    let [first, last] = [6, 2].map(|pages| (bytes.len() - pages * dat.page_size) as u64);
    let whole = TraceFile::open(&path).unwrap();
    let all = whole.events().unwrap().count();
    whole.check_read().unwrap();
    // What is refused to a thread is so for good.
    let walk = move || {
        wear_out(last);
        let some = whole.events().unwrap().count();
        let said = whole.check_read().unwrap_err().to_string();
        // Now more is refused, and the first place is still the one that is named.
        wear_out(first);
        let fewer = whole.events().unwrap().count();
        (some, said, fewer, whole.check_read().unwrap_err().to_string())
    };
    let (some, said, fewer, again) = thread::spawn(walk).join().unwrap();
    assert!(fewer < some && some < all, "{fewer} {some} {all}");
    assert!(said.contains("trace.dat") && said.contains(&format!("byte {last}")), "{said}");
    assert_eq!(again, said);
}
