// SPDX-License-Identifier: GPL-2.0-only
use std::fs;
use std::path::{Path, PathBuf};

use idlewise_recorder::record::spool::{make_folder, remove};

fn left(parent: &Path, pages: &[u8]) -> PathBuf {
    let folder = parent.join("x.dat.parts");
    fs::create_dir_all(folder.join("events")).unwrap();
    fs::write(folder.join("cpu0"), pages).unwrap();
    folder
}

#[test]
fn what_a_killed_recording_left_is_in_nobodys_way_and_not_lost() {
    let parent = tempfile::tempdir().unwrap();
    for (pages, force, moved) in
        [(&b""[..], false, None), (b"p", false, Some(".1")), (b"q", false, Some(".2")), (b"r", true, None)]
    {
        let folder = left(parent.path(), pages);
        let aside = make_folder(&folder, force).unwrap();
        let wanted = moved.map(|n| parent.path().join(format!("x.dat.parts{n}")));
        assert_eq!(aside, wanted);
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
        if let Some(aside) = &aside {
            assert_eq!(fs::read(aside.join("cpu0")).unwrap(), pages);
        }
    }
    // One that is removed goes whole.
    let folder = left(parent.path(), b"p");
    fs::create_dir_all(folder.join("events/power")).unwrap();
    remove(&folder).unwrap();
    assert!(!folder.exists());
    let other = parent.path().join("other");
    fs::create_dir(&other).unwrap();
    fs::write(other.join("cpu0"), "p").unwrap();
    for force in [false, true] {
        let why = make_folder(&other, force).unwrap_err().to_string();
        assert!(why.contains("nothing that a recording has left"), "{why}");
    }
}
