// SPDX-License-Identifier: GPL-2.0-only
//! Does an index say what was put into it, and refuse what cannot be true?

use std::collections::BTreeMap;
use std::fs;

use idlewise_corpus::{Basis, Corpus, Entry, INDEX, Index, Presence, Selection, Split, StateCount, hash_of};

fn entry(id: &str, machine: &str, byte: u8) -> Entry {
    Entry {
        id: id.to_owned(),
        file: format!("{id}.tape").into(),
        sha256: format!("{byte:02x}").repeat(32),
        bytes: 3,
        machine: machine.to_owned(),
        kernel: Some("6.12.48".to_owned()),
        workload: "timer".to_owned(),
        hz: Some(250),
        governor: Some("menu".to_owned()),
        basis: Basis::Measured,
        licence: "GPL-2.0-only".to_owned(),
        origin: "idlewise".to_owned(),
        command: "idlewise record".to_owned(),
        split: Split::of_machine(machine),
        span_ns: 5 + u64::from(byte),
        cpus: 2,
        idle_periods: 7,
        trust: "good".to_owned(),
        reasons: Vec::new(),
        fidelity_pct: Some(99.5),
        grades: BTreeMap::from([("sleep length".to_owned(), "derived".to_owned())]),
        counters: vec![StateCount { state: "C1".to_owned(), usage: 7, time_us: 9, ..StateCount::default() }],
    }
}

#[test]
fn an_index_is_not_written_through_a_link() {
    for target in ["elsewhere.toml", "nowhere.toml"] {
        let folder = tempfile::tempdir().unwrap();
        let here = folder.path().join("corpus");
        fs::create_dir(&here).unwrap();
        fs::write(folder.path().join("elsewhere.toml"), Index::default().to_text().unwrap()).unwrap();
        std::os::unix::fs::symlink(folder.path().join(target), here.join(INDEX)).unwrap();
        let before = fs::read(folder.path().join(target)).ok();
        let said =
            Corpus::open_or_new(&here).unwrap().insert(entry("a", "rk3399", 1)).unwrap_err().to_string();
        assert!(said.contains("is a link, and is not written through"), "{said}");
        assert_eq!(fs::read(folder.path().join(target)).ok(), before, "{target}");
        assert!(fs::symlink_metadata(here.join(INDEX)).unwrap().is_symlink());
    }
}

#[test]
fn a_written_index_is_read_again_and_says_the_same_in_any_order() {
    let mut one = Index::default();
    let mut other = Index::default();
    for id in ["b", "a", "c"] {
        one.insert(entry(id, "rk3399", id.as_bytes()[0])).unwrap();
    }
    for id in ["c", "b", "a"] {
        other.insert(entry(id, "rk3399", id.as_bytes()[0])).unwrap();
    }
    assert_eq!(one.to_text().unwrap(), other.to_text().unwrap());
    assert_eq!(Index::parse(&one.to_text().unwrap()).unwrap(), one);
}

#[test]
fn what_cannot_be_true_is_refused_with_its_place() {
    let with = |change: &dyn Fn(&mut Entry)| {
        let mut index = Index::default();
        index.insert(entry("a", "rk3399", 1)).unwrap();
        let mut another = entry("b", "rk3399", 2);
        change(&mut another);
        index.insert(another).unwrap_err()
    };
    assert!(with(&|e| e.id = "a".to_owned()).contains("\"a\": is there twice"));
    assert!(with(&|e| e.id = "../b".to_owned()).contains("cannot name a recording"));
    assert!(with(&|e| e.file = "/etc/b".into()).contains("expected a path from the index's folder"));
    assert!(with(&|e| e.sha256 = "12".to_owned()).contains("expected 64 hex digits"));
    assert!(with(&|e| e.sha256 = "01".repeat(32)).contains("the same file as \"a\""));
    assert!(with(&|e| e.span_ns = 6).contains("the same recording as \"a\" under another name"));
    assert!(with(&|e| e.licence = "GPL 2, see COPYING".to_owned()).contains("expected an SPDX"));
    assert!(with(&|e| e.workload = " ".to_owned()).contains("workload is empty"));
    let other = Split::ALL.into_iter().find(|s| *s != Split::of_machine("rk3399")).unwrap();
    assert!(with(&|e| e.split = other).contains("a machine is in one part"));
    assert!(Index::parse("schema = \"idlewise.corpus/9\"").unwrap_err().contains("idlewise.corpus/1"));
    assert!(Index::parse("schema = \"idlewise.corpus/1\"\nextra = 1").unwrap_err().contains("extra"));
}

#[test]
fn recordings_are_chosen_and_compared_with_their_hashes() {
    let folder = tempfile::tempdir().unwrap();
    let why = Corpus::open(folder.path()).unwrap_err().to_string();
    assert!(why.contains(INDEX) && why.contains("there is no index"), "{why}");
    let mut corpus = Corpus::open_or_new(folder.path()).unwrap();
    for (id, machine) in [("a", "rk3399"), ("b", "pixel6"), ("c", "pixel6")] {
        let path = folder.path().join(format!("{id}.tape"));
        fs::write(&path, id).unwrap();
        let hash = hash_of(&path).unwrap();
        corpus
            .insert(Entry { sha256: hash.sha256, bytes: hash.bytes, ..entry(id, machine, id.as_bytes()[0]) })
            .unwrap();
    }
    let corpus = Corpus::open(folder.path()).unwrap();
    let ids = |selection: Selection| {
        let found = corpus.select(&selection).unwrap();
        found.iter().map(|e| e.id.as_str()).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(ids(Selection::default()), "a b c");
    assert_eq!(ids(Selection { machines: vec!["pixel6".to_owned()], ..Selection::default() }), "b c");
    assert_eq!(ids(Selection { ids: vec!["c".to_owned()], ..Selection::default() }), "c");
    let none = Selection { machines: vec!["pixel7".to_owned()], ..Selection::default() };
    let why = corpus.select(&none).unwrap_err().to_string();
    assert!(why.contains("\"pixel7\"; expected one of pixel6, rk3399"), "{why}");

    fs::write(folder.path().join("a.tape"), "x").unwrap();
    fs::remove_file(folder.path().join("b.tape")).unwrap();
    let presence: Vec<Presence> = corpus.index().recordings.iter().map(|e| corpus.check(e)).collect();
    let [Presence::Changed(why), Presence::Missing, Presence::Whole] = presence.as_slice() else {
        unreachable!("{presence:?}")
    };
    assert!(why.contains("the index has") && why.contains("changed or replaced"), "{why}");
    // Whose file it is may not be known: its hash is nobody's business.
    let found = hash_of(&folder.path().join("a.tape")).unwrap().sha256;
    assert!(!why.contains(&found), "{why}");
}

#[test]
fn a_machine_is_in_the_same_part_of_every_corpus() {
    let index = Index::default();
    for machine in ["pixel6", "rk3399", "skylake-sp"] {
        assert_eq!(index.split_of(machine), Split::of_machine(machine));
    }
    let of = |split: Split| (0..1000).filter(|n| Split::of_machine(&format!("m{n}")) == split).count();
    let parts = Split::ALL.map(of);
    assert!((550..650).contains(&parts[0]), "{parts:?}");
    assert!(parts[1..].iter().all(|n| (150..260).contains(n)), "{parts:?}");
}
