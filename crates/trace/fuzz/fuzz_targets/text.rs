// SPDX-License-Identifier: GPL-2.0-only
//! Text of a tracer, with lines of any content.
#![no_main]

use std::path::Path;

use idlewise_trace::TraceFile;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    // So most inputs get past the look at the first bytes.
    let mut text = b"# tracer: nop\n a-1 [000] 1.0: x: y\n".to_vec();
    if bytes.starts_with(b"<") || bytes.starts_with(b"TRACE") {
        text.clear();
    }
    text.extend(bytes);
    let Ok(file) = TraceFile::from_bytes(Path::new("fuzz"), text) else { return };
    let Ok(mut events) = file.events() else { return };
    events.by_ref().for_each(drop);
    let _ = (events.health(), events.counts(), events.irq_name(0), events.symbol(1), events.comm(1));
});
