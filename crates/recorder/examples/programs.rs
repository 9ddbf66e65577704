// SPDX-License-Identifier: GPL-2.0-only
//! Lists the BPF programs that a recording of inputs would load into the running kernel. Loads nothing.

use idlewise_live::Host;
use idlewise_recorder::bpf::Recorder;

#[expect(clippy::print_stdout, reason = "the list is what the program is for")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    print!("{}", Recorder::programs(&Host::below("/".as_ref()))?);
    Ok(())
}
