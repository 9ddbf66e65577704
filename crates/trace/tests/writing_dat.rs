// SPDX-License-Identifier: GPL-2.0-only
//! Is a written trace.dat what was put into it, for our reader and for trace-cmd?

use crate::common;

use std::collections::BTreeMap;
use std::io::{Cursor, Seek};
use std::path::Path;
use std::process::Command;

use common::agree::trace_cmd_agrees_on;
use common::has_trace_cmd;
use common::writer::samples::small;
use common::writer::{COMMS, Dat, Page, payload};
use idlewise_model::Event;
use idlewise_trace::TraceFile;
use idlewise_trace::write::{DatForm, DatHead, UsedSymbols};

const FORMS: [DatForm; 2] = [DatForm::Packed, DatForm::Plain];

/// A line of it: what it says is nobody's business here.
const DESCRIPTION: &str = "counters = [1, 2, 3] # \"CPU 0\"\n";

fn head(of: &Dat) -> DatHead {
    let mut formats = BTreeMap::<String, Vec<String>>::new();
    for (system, text) in &of.formats {
        formats.entry((*system).to_owned()).or_default().push(text.clone());
    }
    DatHead {
        header_page: of.header_page(),
        header_event: "# compressed entry header\n\ttype_len    :    5 bits\n".to_owned(),
        formats,
        kallsyms: of.kallsyms.clone(),
        printk_formats: of.printk.clone(),
        saved_cmdlines: COMMS.to_owned(),
        clock: "mono".to_owned(),
        uname: "Linux localhost 6.9.1 x86_64".to_owned(),
        recorder: "idlewise test".to_owned(),
        description: DESCRIPTION.repeat(2000),
        stats: BTreeMap::from([(3, "entries: 7\noverrun: 2\ndropped events: 1\n".to_owned())]),
    }
}

fn write(of: &Dat, form: DatForm) -> Vec<u8> {
    let mut pages: Vec<_> = of.cpus.iter().map(|(cpu, pages)| (*cpu, Cursor::new(of.pages(pages)))).collect();
    let mut out = Cursor::new(Vec::new());
    head(of).write(form, &mut pages, &mut out).unwrap();
    out.rewind().unwrap();
    out.into_inner()
}

fn read(bytes: Vec<u8>) -> (TraceFile, Vec<Event>) {
    let file = TraceFile::from_bytes(Path::new("written.dat"), bytes).unwrap();
    let events = file.events().unwrap().collect();
    (file, events)
}

#[test]
fn the_pages_come_back_and_so_does_what_describes_them() {
    let dat = small();
    let (_, wanted) = read(dat.write());
    for form in FORMS {
        let (file, events) = read(write(&dat, form));
        assert_eq!(events, wanted, "{form:?}");
        let meta = file.meta();
        assert_eq!((meta.clock.as_str(), meta.kernel.as_str()), ("mono", "6.9.1 x86_64"));
        assert_eq!(meta.recorder, "idlewise test");
        assert_eq!(meta.description, Some(DESCRIPTION.repeat(2000)), "{form:?}");
        let [note] = meta.notes.as_slice() else { panic!("{form:?}: {:?}", meta.notes) };
        assert!(note.contains("lost 3 events"), "{note}");
        let lost = meta.cpu_stats.get(&3).map(|s| (s.overrun, s.dropped));
        assert_eq!((meta.cpus.contains(&3), lost), (true, Some((2, 1))));
        assert_eq!((meta.function(0xffff_2000), meta.comms[&42].as_str()), (Some("second"), "worker/0:1"));
    }
}

#[test]
fn many_pages_need_many_chunks() {
    let page = |n: u64| Page::new(1_000_000 * n).event(5, &payload(10, 0, &[(8, 4, n % 3), (12, 4, 0)]));
    let pages: Vec<Page> = (1..=500).map(page).collect();
    let dat = Dat { cpus: vec![(0, pages), (1, Vec::new())], ..small() };
    let (_, wanted) = read(dat.write());
    assert_eq!(wanted.len(), 500);
    for form in FORMS {
        assert_eq!(read(write(&dat, form)).1, wanted, "{form:?}");
    }
}

#[test]
fn trace_cmd_reads_the_same() {
    for form in FORMS {
        trace_cmd_agrees_on(&write(&small(), form));
    }
}

#[test]
fn trace_cmd_dumps_every_section_and_option() {
    if !has_trace_cmd() {
        println!("skipped: no trace-cmd");
        return;
    }
    for form in FORMS {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("written.dat");
        std::fs::write(&path, write(&small(), form)).unwrap();
        let dump = |what: &str| {
            let out = Command::new("trace-cmd").args(["dump", what, "-i"]).arg(&path).output().unwrap();
            let text = String::from_utf8_lossy(&out.stdout).into_owned();
            assert!(out.status.success() && out.stderr.is_empty(), "{form:?} {what}: {out:?}");
            text
        };
        let all = dump("--all");
        for words in
            ["[Header page, ", "[Ftrace format, ", "[Kallsyms, ", "idlewise test", "overrun: 2", COMMS]
        {
            assert!(all.contains(words), "{form:?}: no {words} in {all}");
        }
        assert!(all.contains(DESCRIPTION), "{form:?}: {all}");
        let summary = dump("--summary");
        let version = if form == DatForm::Packed { "\t7\t[Version]" } else { "\t6\t[Version]" };
        assert!(summary.contains(version) && summary.contains("mono"), "{form:?}: {summary}");
    }
}

#[test]
fn trace_cmd_carries_the_description_into_what_it_converts() {
    if !has_trace_cmd() {
        println!("skipped: no trace-cmd");
        return;
    }
    for (form, to) in FORMS.into_iter().flat_map(|form| [(form, "6"), (form, "7")]) {
        let dir = tempfile::tempdir().unwrap();
        let [from, into] = ["from.dat", "into.dat"].map(|name| dir.path().join(name));
        std::fs::write(&from, write(&small(), form)).unwrap();
        let mut convert = Command::new("trace-cmd");
        convert.args(["convert", "--file-version", to, "-i"]).arg(&from).arg("-o").arg(&into);
        let out = convert.output().unwrap();
        let said = String::from_utf8_lossy(&out.stderr);
        assert!(out.status.success() && !said.contains("option"), "{form:?} to {to}: {out:?}");
        let (file, events) = read(std::fs::read(&into).unwrap());
        assert_eq!(file.meta().description, Some(DESCRIPTION.repeat(2000)), "{form:?} to {to}");
        assert!(!events.is_empty(), "{form:?} to {to}");
    }
}

#[test]
fn a_function_that_an_event_points_into_is_kept_with_all_its_names_and_its_end() {
    let kallsyms = "ffffffff81000000 T start\nffffffff81000100 t tick\nffffffff81000100 T same\n\
                    ffffffff81000100 D data\nffffffff81000180 t next\nffffffff81000200 t far\n";
    let mut symbols = UsedSymbols::new(kallsyms);
    let mut page = vec![0; 20];
    page[12..].copy_from_slice(&0xffff_ffff_8100_0104u64.to_ne_bytes());
    symbols.look(&page);
    let text = symbols.text();
    let names: Vec<&str> = text.lines().filter_map(|l| l.split(' ').nth(2)).collect();
    assert_eq!(names, ["tick", "same", "data", "next"]);
}

#[test]
fn a_kernel_that_hides_its_addresses_has_no_symbols() {
    let mut symbols = UsedSymbols::new("0000000000000000 T start\n");
    symbols.look(&[0; 64]);
    assert!(symbols.is_empty() && symbols.text().is_empty());
}
