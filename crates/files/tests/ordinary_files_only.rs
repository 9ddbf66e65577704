// SPDX-License-Identifier: GPL-2.0-only
//! Is an ordinary file opened, and everything else refused without waiting?

use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::Path;

use idlewise_files::{open, read, read_to_string};
use rustix::fs::{CWD, FileType, Mode, mknodat};

#[test]
fn ordinary_files_are_read_also_through_links() {
    let folder = tempfile::tempdir().unwrap();
    let [file, link] = ["file", "link"].map(|name| folder.path().join(name));
    fs::write(&file, "text\n").unwrap();
    symlink(&file, &link).unwrap();
    for path in [&file, &link] {
        assert_eq!(
            (read(path).unwrap().as_slice(), read_to_string(path).unwrap().as_str()),
            (&b"text\n"[..], "text\n")
        );
    }
    assert!(open(&folder.path().join("none")).is_err_and(|e| e.kind() == std::io::ErrorKind::NotFound));
    fs::write(&file, [0xff]).unwrap();
    assert!(read_to_string(&file).is_err_and(|e| e.kind() == std::io::ErrorKind::InvalidData));
    assert_eq!(read(&file).unwrap(), [0xff]);
}

#[test]
fn what_is_no_ordinary_file_is_refused_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let [pipe, link, socket] = ["pipe", "link", "socket"].map(|name| folder.path().join(name));
    mknodat(CWD, &pipe, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    symlink(&pipe, &link).unwrap();
    let _listener = UnixListener::bind(&socket).unwrap();
    let cases = [
        (pipe.as_path(), "pipe (FIFO)"),
        (&link, "pipe (FIFO)"),
        (&socket, "socket"),
        (Path::new("/dev/zero"), "device"),
        (folder.path(), "directory"),
    ];
    for (path, word) in cases {
        let why = open(path).unwrap_err();
        assert_eq!(why.kind(), std::io::ErrorKind::InvalidInput, "{path:?}");
        assert!(why.to_string().contains(word), "{path:?}: {why}");
    }
}
