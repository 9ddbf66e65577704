// SPDX-License-Identifier: GPL-2.0-only
use super::*;

const GOVERNOR: &str = "sys/devices/system/cpu/cpuidle/current_governor";
const DISABLE: &str = "sys/devices/system/cpu/cpu0/cpuidle/state1/disable";
const POLL: &str = "sys/module/haltpoll/parameters/guest_halt_poll_ns";
const INSTANCE: &str = "sys/kernel/tracing/instances/idlewise";

struct Tree {
    root: tempfile::TempDir,
    host: Host,
}

impl Tree {
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        for (path, value) in [(GOVERNOR, "haltpoll\n"), (DISABLE, "0\n"), (POLL, "0\n")] {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, value).unwrap();
        }
        fs::create_dir_all(root.path().join("sys/kernel/tracing/instances")).unwrap();
        let host = Host::below(root.path());
        Self { root, host }
    }

    fn path(&self, path: &str) -> PathBuf {
        self.root.path().join(path)
    }

    fn read(&self, path: &str) -> String {
        fs::read_to_string(self.path(path)).unwrap()
    }

    fn values(&self) -> [String; 3] {
        [GOVERNOR, DISABLE, POLL].map(|p| self.read(p))
    }

    fn open(&self) -> Journal {
        Journal::open_guarded_by(&self.host, None).unwrap()
    }

    fn untouched(&self) -> bool {
        self.values() == ["haltpoll\n", "0\n", "0\n"].map(str::to_owned)
            && !self.path(INSTANCE).exists()
            && !self.path("run/idlewise/journal").exists()
    }
}

/// Ends a session as SIGKILL does: nothing is put back, the lock goes.
fn kill(journal: Journal) {
    // What is noted is on the disk; a session that forgets where it is restores nothing.
    let mut journal = journal;
    journal.path = PathBuf::from("/nowhere/journal");
}

/// A session of single steps, each of which it may not survive.
const STEPS: [fn(&Tree, &mut Journal); 9] = [
    |t, j| j.set(&t.path(GOVERNOR), "menu").unwrap(),
    |t, j| j.set(&t.path(DISABLE), "1").unwrap(),
    // Noted, and dead before the write.
    |t, j| {
        let (path, old) = (t.path(POLL), "0\n".to_owned());
        j.note(&Entry::Set { path, old, new: "200000".to_owned() }).unwrap();
    },
    |t, j| j.set(&t.path(POLL), "200000").unwrap(),
    |t, j| j.made(&t.path(INSTANCE)).unwrap(),
    |t, _| {
        fs::create_dir_all(t.path(INSTANCE).join("events")).unwrap();
        fs::write(t.path(INSTANCE).join("events/enable"), "1").unwrap();
    },
    |t, j| j.set(&t.path(GOVERNOR), "ladder").unwrap(),
    |t, j| j.set(&t.path(GOVERNOR), "menu").unwrap(),
    // A file of an ordinary file system, cut off and not yet written.
    |t, _| fs::write(t.path(GOVERNOR), "").unwrap(),
];

#[test]
fn a_session_that_ends_at_any_step_leaves_nothing_behind() {
    for end in 0..=STEPS.len() {
        let tree = Tree::new();
        let mut journal = tree.open();
        for step in &STEPS[..end] {
            step(&tree, &mut journal);
        }
        drop(journal);
        assert!(tree.untouched(), "ended after {end} steps");
    }
}

#[test]
fn a_session_killed_at_any_step_is_put_back_by_the_next() {
    for end in 0..=STEPS.len() {
        let tree = Tree::new();
        let mut journal = tree.open();
        for step in &STEPS[..end] {
            step(&tree, &mut journal);
        }
        kill(journal);
        let next = tree.open();
        assert!(tree.untouched(), "killed after {end} steps");
        assert_eq!(next.leftovers().is_empty(), end == 0, "{:?}", next.leftovers());
        assert_eq!(next.leftovers().failed, Vec::<String>::new());
    }
}

#[test]
fn a_last_line_that_was_cut_off_changed_nothing() {
    for cut in 1..40 {
        let tree = Tree::new();
        let mut journal = tree.open();
        STEPS[0](&tree, &mut journal);
        kill(journal);
        let path = tree.path("run/idlewise/journal");
        let mut text = fs::read_to_string(&path).unwrap();
        let line = text.replace("cpuidle/current_governor", "no/such/file");
        text.push_str(&line[..cut]);
        fs::write(&path, text).unwrap();
        let next = tree.open();
        assert!(tree.untouched(), "cut at {cut}");
        assert_eq!((next.leftovers().put_back.len(), next.leftovers().left_alone.len()), (1, 0));
    }
}

#[test]
fn putting_back_that_was_itself_interrupted_goes_on() {
    let tree = Tree::new();
    let mut journal = tree.open();
    for step in &STEPS {
        step(&tree, &mut journal);
    }
    kill(journal);
    fs::write(tree.path(POLL), "0\n").unwrap();
    fs::remove_dir_all(tree.path(INSTANCE)).unwrap();
    drop(tree.open());
    assert!(tree.untouched());
}

#[test]
fn what_somebody_else_changed_is_left_alone_and_told() {
    let tree = Tree::new();
    let mut journal = tree.open();
    STEPS[0](&tree, &mut journal);
    STEPS[1](&tree, &mut journal);
    fs::write(tree.path(GOVERNOR), "teo\n").unwrap();
    let said = journal.restore().unwrap();
    assert_eq!(tree.read(GOVERNOR), "teo\n");
    assert_eq!(tree.read(DISABLE), "0\n");
    assert_eq!((said.put_back.len(), said.left_alone.len(), said.failed.len()), (1, 1, 0));
    assert!(said.left_alone[0].contains("teo"), "{said:?}");
    assert!(!tree.path("run/idlewise/journal").exists());
}

#[test]
fn what_cannot_be_put_back_is_tried_again() {
    let tree = Tree::new();
    let mut journal = tree.open();
    STEPS[0](&tree, &mut journal);
    STEPS[1](&tree, &mut journal);
    let away = tree.path("away");
    fs::rename(tree.path(DISABLE), &away).unwrap();
    let said = journal.restore().unwrap();
    assert_eq!((said.put_back.len(), said.failed.len()), (1, 1), "{said:?}");
    drop(journal);
    fs::rename(&away, tree.path(DISABLE)).unwrap();
    let next = tree.open();
    assert_eq!(next.leftovers().put_back.len(), 1);
    assert!(tree.untouched());
}

#[test]
fn a_second_session_is_told_who_has_the_machine() {
    let tree = Tree::new();
    let _first = tree.open();
    let why = Journal::open_guarded_by(&tree.host, None).unwrap_err().to_string();
    assert!(why.contains(&format!("process {}: ", process::id())), "{why}");
}

#[test]
fn a_value_that_goes_to_and_fro_comes_back_to_the_first() {
    for end in 1..6 {
        let tree = Tree::new();
        let mut journal = tree.open();
        for governor in ["menu", "menu", "haltpoll", "ladder", "menu"].iter().take(end) {
            journal.set(&tree.path(GOVERNOR), governor).unwrap();
        }
        kill(journal);
        drop(tree.open());
        assert!(tree.untouched(), "after {end}");
    }
}

#[test]
fn an_instance_of_somebody_else_is_not_taken() {
    let tree = Tree::new();
    let mut journal = tree.open();
    fs::create_dir(tree.path(INSTANCE)).unwrap();
    assert!(journal.made(&tree.path(INSTANCE)).is_err());
    assert!(journal.made(&tree.path("sys/kernel")).is_err());
    drop(journal);
    assert!(tree.path(INSTANCE).exists());
}

#[test]
fn a_file_that_is_not_there_is_not_made() {
    let tree = Tree::new();
    let mut journal = tree.open();
    assert!(journal.set(&tree.path("sys/nothing"), "1").is_err());
    assert!(!tree.path("sys/nothing").exists());
}
