// SPDX-License-Identifier: GPL-2.0-only
use std::io::{BufRead as _, BufReader, IsTerminal as _, Read as _};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use clap::{Args, ValueEnum};
use idlewise_live::Host;
use idlewise_live::watch::{Snapshot, is_ours, textfile};
use idlewise_report::Format;
use idlewise_screen::{self as screen, Watched};
use idlewise_view::{self as view, Grouping};

use crate::args::{OutputArgs, seconds};
use crate::output::{Done, Failure, deliver, is_stdout, warn, write_new};

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct TopArgs {
    /// Time between two samples, from 0.1 to 3600 s
    #[arg(short, long, value_name = "SECONDS", default_value = "2", value_parser = interval)]
    interval: Duration,
    /// What a row shows
    #[arg(long, value_enum, value_name = "ROWS", default_value = "cpu")]
    group: GroupArg,
    /// --group, until -g was --governor in all commands
    #[arg(short = 'g', hide = true, value_name = "ROWS")]
    old_group: Option<String>,
    /// Print one interval and exit
    ///
    /// With --prometheus, the file is written once.
    #[arg(long)]
    once: bool,
    /// The same as --format json
    #[arg(long, requires = "once", conflicts_with = "format")]
    json: bool,
    /// Write counters for node_exporter, at every interval
    ///
    /// For its textfile collector; - for standard output. A file that idlewise did not write is not
    /// overwritten.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["json", "format", "output", "group"])]
    prometheus: Option<PathBuf>,
    /// A folder with sys and proc in it, instead of this machine
    #[arg(long, value_name = "DIR", default_value = "/")]
    root: PathBuf,
    #[command(flatten)]
    output: OutputArgs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum GroupArg {
    /// CPUs, grouped by the part of the machine that they belong to
    Cpu,
    /// CPUs of the same kind, clock, package or last-level cache
    Cluster,
    /// The whole machine
    Machine,
}

impl From<GroupArg> for Grouping {
    fn from(arg: GroupArg) -> Self {
        match arg {
            GroupArg::Cpu => Self::Cpu,
            GroupArg::Cluster => Self::Cluster,
            GroupArg::Machine => Self::Machine,
        }
    }
}

const EXAMPLES: &str = "\
In a terminal; h shows the keys:
  idlewise top
  idlewise top --interval 0.5 --group cluster
One interval, as a table; as JSON:
  idlewise top --once
  idlewise top --once --json | jq .machine.too_deep_pct
For node_exporter, every 15 seconds:
  cd /var/lib/prometheus/node-exporter
  idlewise top --prometheus idlewise.prom --interval 15

Everything is read from sysfs and /proc/stat; no right is needed, except for powercap's energy, which is root's. too deep = \
above/usage, too shallow = below/usage, of the interval. limits: whether a power limit or heat holds clocks now; an average over \
28 s is known after some such windows.";

/// `0.5` as a time that makes sense between two looks.
fn interval(text: &str) -> Result<Duration, String> {
    let time = Duration::from_nanos(seconds(text)?);
    let sane = Duration::from_millis(100)..=Duration::from_secs(3600);
    if sane.contains(&time) { Ok(time) } else { Err("0.1 to 3600 seconds are wanted".to_owned()) }
}

pub(crate) fn run(a: &TopArgs) -> Done {
    let host = Host::below(&a.root);
    if let Some(rows) = &a.old_group {
        let why = format!("-g is --governor in all commands; for rows write --group {rows}");
        return Err(Failure::Error(why));
    }
    if let Some(path) = &a.prometheus {
        return prometheus(a, &host, path);
    }
    if !a.once {
        let tabled = a.output.output.is_some() || a.output.form() != Format::Table;
        if tabled || !std::io::stdout().is_terminal() || !std::io::stdin().is_terminal() {
            let why = "the live view needs a terminal; use `idlewise top --once` for a table, with --json for a program, or \
                       --prometheus FILE";
            return Err(Failure::Error(why.to_owned()));
        }
        let shown = screen::run(Watched::new(&host)?, a.interval, a.group.into());
        return shown.map(|()| true).map_err(|e| Failure::Error(e.to_string()));
    }
    a.output.check()?;
    let mut watched = Watched::new(&host)?;
    let before = watched.look()?;
    thread::sleep(a.interval);
    let snapshot = Snapshot::between(&before, &watched.look()?);
    let format = if a.json { Format::Json } else { a.output.form() };
    let to = OutputArgs { format: Some(format), output: a.output.output.clone() };
    deliver(&to, &view::top(&snapshot, a.group.into()), &snapshot)
}

/// Writes the file at once, and again at every interval unless once is enough.
fn prometheus(a: &TopArgs, host: &Host, path: &Path) -> Done {
    if !is_stdout(path) && path.extension().is_none_or(|e| e != "prom") {
        warn(&format!("{}: node_exporter reads only files that end in .prom", path.display()));
    }
    let mut watched = Watched::new(host)?;
    let mut next = Duration::ZERO;
    loop {
        let text = textfile(&watched.look()?);
        check_ours(path)?;
        write_new(path, text.as_bytes(), true)?;
        if a.once {
            return Ok(true);
        }
        next = (next + a.interval).max(watched.elapsed());
        thread::sleep(next.saturating_sub(watched.elapsed()));
    }
}

/// The first line that tells whose file it is is shorter.
const FIRST_LINE_BYTES: u64 = 200;

/// Refuses a file that is there and is not idlewise's.
fn check_ours(path: &Path) -> Result<(), Failure> {
    if is_stdout(path) {
        return Ok(());
    }
    // What is no file, and what cannot be written, is refused by who writes.
    if !path.is_file() {
        return Ok(());
    }
    let wrong = |why: &dyn std::fmt::Display| Failure::Error(format!("{}: {why}", path.display()));
    let mut line = String::new();
    let file = idlewise_files::open(path).map_err(|e| wrong(&e))?;
    let read = BufReader::new(file.take(FIRST_LINE_BYTES)).read_line(&mut line);
    if read.is_ok() && is_ours(&line) {
        return Ok(());
    }
    Err(wrong(&"exists and was not written by idlewise; name another file or remove it"))
}
