// SPDX-License-Identifier: GPL-2.0-only
//! Any bytes behind an empty packet, so that they are taken for a Perfetto trace: read to the end.
#![no_main]

use std::path::Path;

use idlewise_trace::TraceFile;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let bytes = [&[0x0a, 0], bytes].concat();
    let Ok(file) = TraceFile::from_bytes(Path::new("fuzz"), bytes) else { return };
    let Ok(mut events) = file.events() else { return };
    events.by_ref().for_each(drop);
    let _ = (events.health(), events.counts(), events.irq_name(0), events.comm(1), events.symbol(1));
});
