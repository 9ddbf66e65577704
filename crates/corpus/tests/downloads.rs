// SPDX-License-Identifier: GPL-2.0-only
//! Does a download arrive whole, go on where it ended, and count only with the right hash?

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;

use idlewise_corpus::{Download, FetchList, Fetched, fetch, fetch_at_most, hash_of};

/// A file to download, and the folder for it; nothing where curl is missing.
fn source() -> Option<(tempfile::TempDir, PathBuf, Download)> {
    if Command::new("curl").arg("--version").output().is_err() {
        eprintln!("skipped: downloads: no curl");
        return None;
    }
    let folder = tempfile::tempdir().unwrap();
    let from = folder.path().join("far.tape");
    fs::write(&from, "0123456789".repeat(1000)).unwrap();
    let to = folder.path().join("here");
    fs::create_dir(&to).unwrap();
    let sha256 = hash_of(&from).unwrap().sha256;
    let url = format!("file://{}", from.display());
    Some((folder, to, Download { sha256, url, name: "near.tape".to_owned() }))
}

#[test]
fn a_file_arrives_once() {
    let Some((_folder, to, download)) = source() else { return };
    assert_eq!(fetch(&download, &to).unwrap(), Fetched::Arrived);
    assert_eq!(hash_of(&to.join("near.tape")).unwrap().sha256, download.sha256);
    assert_eq!(fetch(&download, &to).unwrap(), Fetched::Already);
    assert_eq!(fs::read_dir(&to).unwrap().count(), 1, "nothing else is left");
}

#[test]
fn a_part_is_gone_on_with_whatever_is_in_it() {
    let Some((_folder, to, download)) = source() else { return };
    // Of the file; of another; all of it; more than it.
    let whole = "0123456789".repeat(1000);
    for part in [&whole[..4321], "something else", &whole, &format!("{whole}more")] {
        let name = format!(".near.tape.{}.part", &download.sha256[..16]);
        fs::write(to.join(name), part).unwrap();
        assert_eq!(fetch(&download, &to).unwrap(), Fetched::Arrived, "{} bytes", part.len());
        fs::remove_file(to.join("near.tape")).unwrap();
    }
}

#[test]
fn files_that_a_user_has_stay_and_devices_are_refused() {
    let Some((_folder, to, download)) = source() else { return };
    fs::write(to.join("near.tape.part"), "mine").unwrap();
    assert_eq!(fetch(&download, &to).unwrap(), Fetched::Arrived);
    assert_eq!(fs::read(to.join("near.tape.part")).unwrap(), b"mine");
    for (url, words) in [
        ("file:///dev/zero", "no ordinary file"),
        ("file://localhost/dev/zero", "expected file:///PATH"),
        ("file:///dev/%7aero", "expected file:///PATH"),
        ("file:///dev/zero?x", "expected file:///PATH"),
    ] {
        let endless = Download { url: url.to_owned(), name: "zeros".to_owned(), ..download.clone() };
        let why = fetch(&endless, &to).unwrap_err().to_string();
        assert!(why.contains(words), "{why}");
    }
}

#[test]
fn a_link_that_a_user_has_is_not_replaced() {
    let Some((folder, to, download)) = source() else { return };
    let link = |name: &str, of: &Path| std::os::unix::fs::symlink(of, to.join(name)).unwrap();
    link("near.tape", Path::new("../nowhere.tape"));
    let why = fetch(&download, &to).unwrap_err().to_string();
    assert!(why.contains("near.tape") && why.contains("a link to a file that is not there"), "{why}");
    assert!(fs::symlink_metadata(to.join("near.tape")).unwrap().is_symlink());
    assert!(!folder.path().join("nowhere.tape").exists());
    // One to the right file is the file.
    fs::remove_file(to.join("near.tape")).unwrap();
    link("near.tape", &folder.path().join("far.tape"));
    assert_eq!(fetch(&download, &to).unwrap(), Fetched::Already);
    let other = Download { name: "other.tape".to_owned(), ..download };
    let part = format!(".other.tape.{}.part", &other.sha256[..16]);
    link(&part, &folder.path().join("far.tape"));
    assert!(fetch(&other, &to).unwrap_err().to_string().contains("is no ordinary file"));
}

#[test]
fn a_wrong_hash_is_refused_and_nothing_kept() {
    let Some((folder, to, download)) = source() else { return };
    let wrong = Download { sha256: "0".repeat(64), ..download.clone() };
    let why = fetch(&wrong, &to).unwrap_err().to_string();
    assert!(why.contains("wrong hash") && !why.contains(&download.sha256), "{why}");
    assert_eq!(fs::read_dir(&to).unwrap().count(), 0);
    fs::write(to.join("near.tape"), "mine").unwrap();
    let why = fetch(&download, &to).unwrap_err().to_string();
    let mine = hash_of(&to.join("near.tape")).unwrap().sha256;
    assert!(why.contains("remove it") && !why.contains(&mine), "{why}");
    assert_eq!(fs::read(to.join("near.tape")).unwrap(), b"mine");
    let missing = Download {
        url: format!("file://{}/nowhere", folder.path().display()),
        name: "other".to_owned(),
        ..download
    };
    let why = fetch(&missing, &to).unwrap_err().to_string();
    assert!(why.contains("nowhere"), "{why}");
}

/// A server that does not say how much it sends, and sends more than is wanted.
#[test]
fn a_file_of_no_known_size_is_not_written_beyond_the_limit() {
    let Some((_folder, to, download)) = source() else { return };
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://me:SECRET@{}/far.tape?key=SECRET", server.local_addr().unwrap());
    std::thread::spawn(move || {
        for mut client in server.incoming().flatten() {
            let _request = client.read(&mut [0; 4096]);
            let _head = client.write_all(b"HTTP/1.0 200 OK\r\n\r\n");
            while client.write_all(&[b'x'; 1 << 16]).is_ok() {}
        }
    });
    let endless = Download { url, ..download };
    let why = fetch_at_most(&endless, &to, 1 << 20).unwrap_err().to_string();
    assert!(why.contains("1048576 bytes at most are fetched") && why.contains("/far.tape"), "{why}");
    assert!(!why.contains("SECRET") && !why.contains("me:"), "{why}");
    assert_eq!(fs::read_dir(&to).unwrap().count(), 0);
}

#[test]
fn no_message_shows_who_asks_and_with_what_key() {
    let Some((folder, to, download)) = source() else { return };
    let hash = "ab".repeat(32);
    for line in [
        format!("{hash} ftp://me:SECRET@example.org/a\n"),
        format!("{hash} https://example.org/a.tape?key=SECRET\n"),
        format!("{hash} https://me:SECRET@example.org\n"),
        format!("{hash} file:///dev/zero?key=SECRET a\n"),
    ] {
        let path = folder.path().join("list");
        fs::write(&path, &line).unwrap();
        let why = FetchList::read(&path).unwrap_err().to_string();
        assert!(why.contains("line 1") && !why.contains("SECRET"), "{why}");
    }
    for url in ["http://me:SECRET@127.0.0.1:1/a?key=SECRET#SECRET", "http://me:SECRET@127.0.0.1:x/a?SECRET"] {
        let why = fetch(&Download { url: url.to_owned(), ..download.clone() }, &to).unwrap_err().to_string();
        assert!(why.contains("http://127.0.0.1") && !why.contains("SECRET"), "{why}");
    }
}

#[test]
fn lists_are_read_or_refused_with_the_line() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("list");
    let read = |text: &str| {
        fs::write(&path, text).unwrap();
        FetchList::read(&path)
    };
    let hash = "ab".repeat(32);
    let list =
        read(&format!("# mine\n\n{hash} https://example.org/x/a.tape\n{hash} file:///b c.tape\n")).unwrap();
    let names: Vec<&str> = list.downloads.iter().map(|d| d.name.as_str()).collect();
    assert_eq!(names, ["a.tape", "c.tape"]);
    for (text, expected) in [
        (String::new(), "names nothing"),
        (format!("{hash}\n"), "line 1: 1 words"),
        ("12 https://example.org/a\n".to_owned(), "line 1: \"12\" is no SHA-256"),
        (format!("\n{hash} ftp://example.org/a\n"), "line 2: \"ftp://example.org/a\""),
        (format!("{hash} https://example.org/..\n"), "cannot name a recording"),
        (format!("{hash} file:///a\n{hash} file:///b a\n"), "line 2: a is there twice"),
        (
            format!("{hash} file://localhost/dev/zero a\n"),
            "line 1: file://localhost/dev/zero: expected file:///PATH",
        ),
        (format!("{hash} file:///dev/%7aero a\n"), "without a host and without %, ?, #"),
        (format!("{hash} file:///dev/zero?x a\n"), "expected file:///PATH"),
    ] {
        let why = read(&text).unwrap_err().to_string();
        assert!(why.contains(expected) && why.contains(&path.display().to_string()), "{why}");
    }
    assert!(FetchList::read(Path::new("/nowhere/list")).is_err());
}
