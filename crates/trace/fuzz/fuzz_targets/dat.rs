// SPDX-License-Identifier: GPL-2.0-only
//! Any bytes: opened, read to the end, asked for everything.
#![no_main]

use std::path::Path;

use idlewise_trace::TraceFile;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Ok(file) = TraceFile::from_bytes(Path::new("fuzz"), bytes.to_vec()) else { return };
    let Ok(mut events) = file.events() else { return };
    events.by_ref().for_each(drop);
    let _ = (events.health(), events.counts(), events.irq_name(0), file.meta().function(1));
});
