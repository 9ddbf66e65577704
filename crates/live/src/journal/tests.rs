// SPDX-License-Identifier: GPL-2.0-only
use std::os::unix::fs::PermissionsExt as _;

use proptest::prelude::*;
use proptest::sample::Index;
use proptest::test_runner::{Config, TestRunner};

use super::*;

const GOVERNOR: &str = "sys/devices/system/cpu/cpuidle/current_governor";
const DISABLE: &str = "sys/devices/system/cpu/cpu0/cpuidle/state1/disable";
const POLL: &str = "sys/module/haltpoll/parameters/guest_halt_poll_ns";
const INSTANCE: &str = "sys/kernel/tracing/instances/idlewise-1";

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

/// Ends a session as SIGKILL does: nothing is restored, the lock goes.
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
    |t, j| j.made(&t.path(INSTANCE), None).unwrap(),
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
fn a_session_killed_at_any_step_is_restored_by_the_next() {
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
fn pages_of_a_killed_recording_are_moved_behind_those_that_it_had_moved() {
    const PAGE: usize = 4096;
    let pages = |bytes: &[u8]| bytes.iter().flat_map(|b| vec![*b; PAGE]).collect::<Vec<u8>>();
    for (known, kept) in [(true, &b"123"[..]), (false, b"1")] {
        let tree = Tree::new();
        let parts = tree.path("q.dat.parts");
        fs::create_dir_all(parts.join(if known { "events" } else { "others" })).unwrap();
        // The second one was cut off.
        let moved = [pages(b"1"), vec![b'2'; PAGE / 2]].concat();
        fs::write(parts.join("cpu0"), if known { moved } else { pages(b"1") }).unwrap();
        let mut journal = tree.open();
        let to = Parts { folder: parts.clone(), page: PAGE };
        journal.made(&tree.path(INSTANCE), Some(to)).unwrap();
        let buffer = tree.path(INSTANCE).join("per_cpu/cpu0");
        fs::create_dir_all(&buffer).unwrap();
        fs::write(buffer.join("trace_pipe_raw"), pages(b"23")).unwrap();
        kill(journal);
        let next = tree.open();
        assert!(tree.untouched());
        assert_eq!(fs::read(parts.join("cpu0")).unwrap(), pages(kept));
        let said = next.leftovers().restored.iter().any(|l| l.contains("2 more pages of the recording"));
        assert_eq!(said, known, "{:?}", next.leftovers());
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
        assert_eq!((next.leftovers().restored.len(), next.leftovers().left_alone.len()), (1, 0));
    }
}

/// All files below `folder` with what they hold.
fn files(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut out = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            out.extend(files(&path));
        } else {
            out.push((path.clone(), fs::read(path).unwrap()));
        }
    }
    out.sort();
    out
}

/// A session ends with its journal damaged anywhere, as a disk or malice does it: the next one opens, and nothing changes but
/// the settings that sessions change.
#[test]
fn a_damaged_journal_changes_nothing_else() {
    let tree = Tree::new();
    for other in ["etc/passwd", "sys/module/haltpoll/parameters/other", "sys/devices/system/cpu/cpu0/online"]
    {
        fs::create_dir_all(tree.path(other).parent().unwrap()).unwrap();
        fs::write(tree.path(other), "precious").unwrap();
    }
    let mut journal = tree.open();
    STEPS.iter().for_each(|step| step(&tree, &mut journal));
    kill(journal);
    let path = tree.path("run/idlewise/journal");
    // Its own folder, and the trace instance, which goes.
    let of_sessions = ["run", "sys/kernel/tracing/instances"].map(|folder| tree.path(folder));
    let settings = [GOVERNOR, DISABLE, POLL].map(|p| tree.path(p));
    let whole = fs::read(&path).unwrap();
    let others = || {
        let mut all = files(tree.root.path());
        all.retain(|(p, _)| !settings.contains(p) && !of_sessions.iter().any(|folder| p.starts_with(folder)));
        all
    };
    let before = others();
    let cases = std::env::var("IDLEWISE_FUZZ_INPUTS").ok().and_then(|n| n.parse().ok()).unwrap_or(500);
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    let words: [&[u8]; 8] =
        [b"/", b"../", b"etc/passwd", b"\"", b"\n", b"\0", b"other", b"18446744073709551616"];
    let edits = prop::collection::vec((any::<Index>(), any::<u8>(), 0..16_usize, 0..12_usize), 1..5);
    TestRunner::new(config)
        .run(&edits, |edits| {
            let mut text = whole.clone();
            for (at, byte, word, gone) in edits {
                let at = at.index(text.len().max(1)).min(text.len());
                let put = words.get(word).map_or_else(|| vec![byte], |word| word.to_vec());
                text.splice(at..(at + gone).min(text.len()), put);
            }
            fs::write(&path, &text).unwrap();
            drop(tree.open());
            prop_assert_eq!(others(), before.clone());
            Ok(())
        })
        .unwrap();
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
    assert_eq!((said.restored.len(), said.left_alone.len(), said.failed.len()), (1, 1, 0));
    assert!(said.left_alone[0].contains("teo"), "{said:?}");
    assert!(!tree.path("run/idlewise/journal").exists());
}

#[test]
fn what_cannot_be_restored_is_tried_again() {
    let tree = Tree::new();
    let mut journal = tree.open();
    STEPS[0](&tree, &mut journal);
    STEPS[1](&tree, &mut journal);
    let away = tree.path("away");
    fs::rename(tree.path(DISABLE), &away).unwrap();
    let said = journal.restore().unwrap();
    assert_eq!((said.restored.len(), said.failed.len()), (1, 1), "{said:?}");
    drop(journal);
    fs::rename(&away, tree.path(DISABLE)).unwrap();
    let next = tree.open();
    assert_eq!(next.leftovers().restored.len(), 1);
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
    assert!(journal.made(&tree.path(INSTANCE), None).is_err());
    assert!(journal.made(&tree.path("sys/kernel"), None).is_err());
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

fn mode(path: &Path) -> u32 {
    fs::symlink_metadata(path).unwrap().permissions().mode() & 0o7777
}

#[test]
fn only_the_owner_comes_into_the_folder_whatever_the_umask() {
    let tree = Tree::new();
    let run = tree.path("run/idlewise");
    // In a process of its own: the umask is all threads'.
    for umask in ["0000", "0022", "0777"] {
        let script = format!("umask {umask}; mkdir -p {0} && exec \"$@\"", tree.path("run").display());
        let this = std::env::current_exe().unwrap();
        let ran = Command::new("sh")
            .args(["-c", &script, "sh"])
            .arg(this)
            .args(["--exact", "journal::tests::opens_a_journal_where_it_is_told_to"])
            .env("IDLEWISE_TEST_JOURNAL_AT", tree.root.path())
            .output()
            .unwrap();
        assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stdout));
        assert_eq!((mode(&run), mode(&run.join("lock"))), (0o700, 0o600), "umask {umask}");
        fs::remove_dir_all(&run).unwrap();
        let _ = fs::set_permissions(tree.path("run"), fs::Permissions::from_mode(0o755));
    }
}

/// For the test above.
#[test]
fn opens_a_journal_where_it_is_told_to() {
    let Some(root) = std::env::var_os("IDLEWISE_TEST_JOURNAL_AT") else { return };
    let run = Path::new(&root).join("run");
    fs::set_permissions(&run, fs::Permissions::from_mode(0o755)).unwrap();
    drop(Journal::open_guarded_by(&Host::below(Path::new(&root)), None).unwrap());
}

#[test]
fn a_folder_of_an_older_version_is_closed_and_its_lock_is_not_used() {
    let tree = Tree::new();
    let run = tree.path("run/idlewise");
    fs::create_dir_all(&run).unwrap();
    fs::set_permissions(&run, fs::Permissions::from_mode(0o755)).unwrap();
    fs::write(run.join("lock"), "").unwrap();
    // Another user has the file open, and takes the lock once the first session is over.
    let theirs = File::open(run.join("lock")).unwrap();
    drop(tree.open());
    flock(&theirs, FlockOperation::NonBlockingLockExclusive).unwrap();
    drop(tree.open());
    assert_eq!(mode(&run), 0o700);
}

#[test]
fn a_folder_that_others_made_or_may_write_is_refused() {
    let tree = Tree::new();
    let run = tree.path("run/idlewise");
    let refusal = || Journal::open_guarded_by(&tree.host, None).unwrap_err().to_string();
    fs::create_dir_all(&run).unwrap();
    for mode in [0o777, 0o770, 0o1777] {
        fs::set_permissions(&run, fs::Permissions::from_mode(mode)).unwrap();
        let why = refusal();
        assert!(why.contains("others may write in it") && why.contains("remove it"), "{why}");
    }
    fs::remove_dir(&run).unwrap();
    std::os::unix::fs::symlink(tree.path("sys"), &run).unwrap();
    assert!(refusal().contains("no directory"), "{}", refusal());
    fs::remove_file(&run).unwrap();
    if rustix::process::geteuid().is_root() {
        fs::create_dir(&run).unwrap();
        std::os::unix::fs::chown(&run, Some(65534), None).unwrap();
        assert!(refusal().contains("belongs to user 65534"), "{}", refusal());
    }
}

#[test]
fn a_journal_that_somebody_else_wrote_restores_nothing_but_settings() {
    let tree = Tree::new();
    drop(tree.open());
    let victims = [
        "etc/passwd",
        "sys/power/state",
        "sys/kernel/tracing/instances/theirs/x",
        "sys/module/a/b/parameters/c",
    ];
    for victim in victims {
        fs::create_dir_all(tree.path(victim).parent().unwrap()).unwrap();
        fs::write(tree.path(victim), "theirs\n").unwrap();
    }
    let root = tree.root.path().display().to_string();
    let set = |path: &str| {
        format!(
            "{{\"set\":{{\"path\":{:?},\"old\":\"evil\",\"new\":\"theirs\"}}}}\n",
            format!("{root}/{path}")
        )
    };
    let made = |path: &str| format!("{{\"made\":{{\"folder\":{:?}}}}}\n", format!("{root}/{path}"));
    let lines: String = [
        set("etc/passwd"),
        set("sys/power/state"),
        set("sys/module/a/b/parameters/c"),
        set("sys/devices/system/cpu/cpuidle/../../../../../etc/passwd"),
        set("sys/devices/system/cpu/cpu0/cpuidle/state1/../../../../../../../etc/passwd"),
        set("sys//module/haltpoll/parameters/guest_halt_poll_ns"),
        set("sys/devices/system/cpu/cpu0/cpuidle/state1/usage"),
        made("etc"),
        made("sys/kernel/tracing/instances/theirs"),
        made("sys/kernel/tracing/instances/idlewise-1/../theirs"),
        made("sys/kernel/tracing/instances/idlewise-"),
        // And one that is ours.
        set(GOVERNOR).replace("evil", "haltpoll\\n").replace("theirs", "menu"),
    ]
    .concat();
    fs::write(tree.path(GOVERNOR), "menu\n").unwrap();
    fs::write(tree.path("run/idlewise/journal"), lines).unwrap();
    let journal = tree.open();
    assert_eq!(journal.leftovers().left_alone.len(), 11, "{:?}", journal.leftovers());
    assert_eq!(journal.leftovers().restored.len(), 1, "{:?}", journal.leftovers());
    for victim in victims {
        assert_eq!(tree.read(victim), "theirs\n", "{victim}");
    }
    drop(journal);
    assert!(tree.untouched());
}

#[test]
fn a_pipe_in_place_of_the_journal_holds_nobody() {
    let tree = Tree::new();
    drop(tree.open());
    assert!(Command::new("mkfifo").arg(tree.path("run/idlewise/journal")).status().unwrap().success());
    let why = Journal::open_guarded_by(&tree.host, None).unwrap_err().to_string();
    assert!(why.contains("pipe (FIFO)"), "{why}");
}

#[test]
fn what_would_not_be_restored_is_not_changed() {
    let tree = Tree::new();
    fs::create_dir_all(tree.path("etc")).unwrap();
    fs::write(tree.path("etc/passwd"), "theirs\n").unwrap();
    let mut journal = tree.open();
    assert!(journal.set(&tree.path("etc/passwd"), "ours").is_err());
    assert!(journal.made(&tree.path("sys/kernel/tracing/instances/theirs"), None).is_err());
    assert_eq!(tree.read("etc/passwd"), "theirs\n");
}
