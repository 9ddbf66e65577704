// SPDX-License-Identifier: GPL-2.0-only
use std::ffi::OsString;
use std::io::{self, IsTerminal};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use clap::Args;
use idlewise_live::Host;
use idlewise_live::perfetto_config::{BUFFER_MIB, LENGTH, perfetto_config};
use idlewise_machine::record::{RecordRequest, overhead, record};
use idlewise_platform::find;
use idlewise_recorder::record::{Stop, messages};
use idlewise_recording::DatForm;
use idlewise_report::{Format, Report};
use idlewise_view as view;

use crate::output::{
    Failure, Progress, interrupted, refuse_stdout, say, show_progress, warn, warn_lines, write_new,
};
use crate::restore;

/// Record the running machine
///
/// While a command runs, or until Ctrl-C, into a trace.dat that replay, trace-cmd and KernelShark read. It also
/// describes the machine and holds the kernel's counters.
#[derive(Debug, Args)]
#[command(after_help = AFTER)]
pub(crate) struct RecordArgs {
    /// The trace to write
    #[arg(short, long, value_name = "FILE", default_value = "trace.dat")]
    output: PathBuf,
    /// Duration; a command that still runs then is ended
    #[arg(short, long, value_name = "SECONDS", value_parser = crate::args::seconds)]
    seconds: Option<u64>,
    /// Trace buffer of each CPU [default: 64, less if scarce]
    ///
    /// An event takes 30 to 45 bytes.
    #[arg(short, long, value_name = "MIB", value_parser = clap::value_parser!(u64).range(1..=1 << 20))]
    buffer: Option<u64>,
    /// Also record the governor's inputs and choices, by BPF
    ///
    /// Into FILE with the ending .inputs.csv: `replay` then compares its choices with the kernel's.
    #[arg(short, long)]
    inputs: bool,
    /// Overwrite FILE
    ///
    /// Its side-car (FILE with the ending .toml), which would describe the new recording, is deleted.
    #[arg(long)]
    force: bool,
    /// --force, until -f was --format in all commands
    #[arg(short = 'f', hide = true)]
    old_force: bool,
    /// Also write the report to this file, as JSON
    #[arg(long, value_name = "FILE", conflicts_with = "overhead")]
    json: Option<PathBuf>,
    /// Write version 6 of trace.dat, uncompressed
    ///
    /// For trace-cmd before 3.1 and KernelShark before 2.2.
    #[arg(long)]
    plain: bool,
    /// Measure how much recording slows COMMAND; keep nothing
    ///
    /// In blocks of four runs (without, with, with, without recording); the default command is a built-in load
    /// that exchanges messages. The captured data is in FILE.parts meanwhile, and is deleted.
    #[arg(long, value_name = "BLOCKS", num_args = 0..=1, default_missing_value = "5", value_parser = clap::value_parser!(u16).range(1..=1000), conflicts_with_all = ["seconds", "force", "plain"])]
    overhead: Option<u16>,
    /// The built-in load of --overhead
    #[arg(long, hide = true)]
    play_messages: bool,
    /// Print the configuration for Perfetto on a phone; record nothing
    ///
    /// With it Perfetto records all of this on an Android device; --seconds and --buffer are the device's [default: 10 s,
    /// 16 MiB].
    #[arg(long, requires = "platform", conflicts_with_all = ["output", "inputs", "force", "json", "plain", "overhead", "command"])]
    perfetto_config: bool,
    /// The device of --perfetto-config
    ///
    /// A name of `idlewise platform list`, a platform file or a sysfs dump.
    #[arg(short, long, value_name = "PLATFORM", requires = "perfetto_config")]
    platform: Option<String>,
    /// A folder with sys, proc, dev and run, instead of this machine
    ///
    /// It looks like the root of a machine.
    #[arg(long, hide = true, value_name = "DIR", default_value = "/")]
    root: PathBuf,
    /// The command and its arguments; its output is not changed
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

const AFTER: &str = "\
Record a command, or the machine as it is for ten seconds:
  idlewise record -o trace.dat -- ./load
  idlewise record -o trace.dat --seconds 10
With the inputs that the kernel's governor had:
  idlewise record -o trace.dat --inputs -- ./load
How much does recording slow the load?
  idlewise record --overhead -- ./load
A phone, by Perfetto:
  idlewise record --perfetto-config \\
      --platform pixel6 > idle.cfg

Needs root, the configuration does not. Exit status: that of COMMAND (128 and the signal's number if one ended it); 0 without \
one; 2 if nothing was recorded.
Messages go to standard error. See docs/guide/recording.md.";

/// Exit status where nothing came of it.
const NOT_DONE: u8 = 2;

pub(crate) fn run(a: &RecordArgs) -> ExitCode {
    if a.play_messages {
        messages();
        return ExitCode::SUCCESS;
    }
    let done = match a.platform.as_deref().filter(|_| a.perfetto_config) {
        Some(platform) => configuration(a, platform),
        None => recorded(a),
    };
    match done {
        Ok(code) => ExitCode::from(code),
        Err(Failure::Closed) => ExitCode::SUCCESS,
        Err(Failure::Error(why)) => {
            warn(&why);
            ExitCode::from(NOT_DONE)
        }
    }
}

/// Prints what Perfetto takes on a device like `platform`.
fn configuration(a: &RecordArgs, platform: &str) -> Result<u8, Failure> {
    let device = find(platform).map_err(|e| Failure::Error(e.to_string()))?;
    let length = a.seconds.map_or(LENGTH, Duration::from_nanos);
    say(&perfetto_config(&device, length, a.buffer.unwrap_or(BUFFER_MIB)))?;
    Ok(0)
}

fn recorded(a: &RecordArgs) -> Result<u8, Failure> {
    if a.old_force {
        return Err(Failure::Error(
            "-f is --format in all commands; to overwrite FILE write --force".to_owned(),
        ));
    }
    if a.platform.is_some() {
        let why = "--platform is for --perfetto-config, and a recording is of this machine; leave it out";
        return Err(Failure::Error(why.to_owned()));
    }
    let host = Host::below(&a.root);
    refuse_stdout(&a.output, "a recording and its description are two files")?;
    let tell = io::stderr().is_terminal();
    let request = RecordRequest {
        command: a.command.clone(),
        limit: a.seconds.map(Duration::from_nanos),
        buffer_kib: a.buffer.map(|mib| mib * 1024),
        to: a.output.clone(),
        force: a.force,
        inputs: a.inputs,
        tell,
    };
    if a.overhead.is_none() {
        request.check(&host, a.json.as_deref())?;
    }
    let (mut stop, mut stopper) = Stop::new().map_err(|e| e.to_string())?;
    let over = Arc::new(AtomicBool::new(false));
    let is_over = Arc::clone(&over);
    let parts = request.parts();
    // Ctrl-C ends the recording; then, while it is written, the command.
    ctrlc::set_handler(move || {
        if is_over.load(Ordering::SeqCst) {
            if parts.exists() {
                let parts = parts.display();
                warn(&format!("{parts} keeps the captured data: `idlewise info {parts}` reads it"));
            }
            interrupted();
        }
        stopper.stop();
    })
    .map_err(|e| e.to_string())?;
    if let Some(blocks) = a.overhead {
        return measured(&host, request, blocks, &mut stop);
    }
    if a.command.is_empty() && a.seconds.is_none() {
        warn("recording; Ctrl-C ends it");
    }
    let taken = record(&host, &request, &mut stop, &mut |p| {
        if p.elapsed >= Duration::from_secs(1) {
            let mb = p.bytes as f64 / 1e6;
            show_progress(&format!("recording {:.0} s, {mb:.0} MB written", p.elapsed.as_secs_f64()));
        }
    })?;
    over.store(true, Ordering::SeqCst);
    if tell {
        show_progress("");
    }
    let [before, after] = &taken.restored;
    restore::tell(before, true);
    restore::tell(after, false);
    let form = if a.plain { DatForm::Plain } else { DatForm::Packed };
    let code = taken.ended().code();
    let report = {
        let progress = Progress::new("writing");
        taken.keep(&a.output, a.force, form, &|what| progress.say(what))?
    };
    show(&view::record(&report))?;
    if let Some(path) = &a.json {
        let text = view::record(&report).render(Format::Json, &report).map_err(|e| e.to_string())?;
        match write_new(path, text.as_bytes(), a.force) {
            // The recording is kept, and the command has its status.
            Err(Failure::Closed) => {}
            written => written?,
        }
    }
    Ok(code)
}

fn measured(host: &Host, mut request: RecordRequest, blocks: u16, stop: &mut Stop) -> Result<u8, Failure> {
    if request.command.is_empty() {
        let this = std::env::current_exe().map_err(|e| e.to_string())?;
        request.command = vec![this.into(), "record".into(), "--play-messages".into()];
    }
    let result = {
        let progress = Progress::new("running");
        overhead::overhead(host, &request, blocks.into(), stop, &mut |done, of| {
            progress.step("running", done, of)
        })?
    };
    show(&view::overhead(&result))?;
    Ok(0)
}

pub(crate) fn show(report: &Report) -> Result<(), Failure> {
    let text = report.render(Format::Table, &()).map_err(|e| e.to_string())?;
    warn_lines(&text);
    Ok(())
}
