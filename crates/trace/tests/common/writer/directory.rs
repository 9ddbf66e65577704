// SPDX-License-Identifier: GPL-2.0-only
//! The same traces as directories of raw ring buffers.

use std::fs;
use std::path::Path;

use super::{COMMS, Dat};

/// Where the parts of a directory lie.
#[derive(Clone, Copy, Debug)]
pub enum Shape {
    /// As in tracefs.
    Tracefs,
    /// As tools/record.sh keeps them.
    Record,
    /// As schedviz' recorder does.
    Schedviz,
    /// As `trace-cmd record` does meanwhile.
    TraceCmd,
}

impl Dat {
    /// Writes the trace to `directory`.
    pub fn write_directory(&self, directory: &Path, shape: Shape) {
        let (pages, descriptions, formats): (&dyn Fn(u32) -> String, _, _) = match shape {
            Shape::Tracefs => (&|cpu| format!("per_cpu/cpu{cpu}/trace_pipe_raw"), "", "events"),
            Shape::Record => (&|cpu| format!("cpu{cpu}"), "tracing", "events"),
            Shape::Schedviz => (&|cpu| format!("traces/cpu{cpu}"), "", "formats"),
            Shape::TraceCmd => (&|cpu| format!("trace.dat.cpu{cpu}"), "", "events"),
        };
        let write = |path: &Path, bytes: &[u8]| {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, bytes).unwrap();
        };
        for (cpu, of_cpu) in &self.cpus {
            write(&directory.join(pages(*cpu)), &self.pages(of_cpu));
        }
        let base = directory.join(descriptions);
        write(&base.join(formats).join("header_page"), self.header_page().as_bytes());
        for (system, text) in &self.formats {
            let name = text.lines().find_map(|l| l.strip_prefix("name: ")).unwrap();
            write(&base.join(formats).join(system).join(name).join("format"), text.as_bytes());
        }
        write(&base.join("saved_cmdlines"), COMMS.as_bytes());
        write(&base.join("printk_formats"), self.printk.as_bytes());
        write(&base.join("trace_clock"), format!("local global [{}]\n", self.clock).as_bytes());
        write(&directory.join("kallsyms"), self.kallsyms.as_bytes());
        write(&directory.join("uname"), b"6.9.1 x86_64\n");
    }
}
