// SPDX-License-Identifier: GPL-2.0-only
//! Downloads files that a list names with their hashes. `curl` does the transfer; what arrives counts only with the right hash.

use std::fs;
use std::io;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

use rustix::process::{Pid, Resource, Rlimit, Signal, prlimit};

use crate::error::CorpusError;
use crate::hash::{hash_of, is_sha256};
use crate::index::check_id;

/// What a list of downloads says: lines of SHA-256, URL and, if it is not the URL's last part, the name of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FetchList {
    pub downloads: Vec<Download>,
}

/// A file to download.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Download {
    /// 64 hex digits.
    pub sha256: String,
    pub url: String,
    /// Name in the folder.
    pub name: String,
}

/// What became of a download.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fetched {
    /// It was there with the right hash.
    Already,
    Arrived,
}

/// The beginnings of URLs that are fetched.
const SCHEMES: [&str; 3] = ["https://", "http://", "file://"];
/// No recording is larger, bytes.
const LARGEST: u64 = 16 << 30;
/// A line that brings less than so many bytes a second does not bring a recording of that size: after that time a transfer ends, and the
/// next call goes on there.
const SLOWEST: u64 = 256 << 10;

impl FetchList {
    /// Reads the list at `path`. Empty lines and lines that begin with `#` do not count.
    ///
    /// # Errors
    /// [`CorpusError::File`] with the line that cannot be read, and what was expected.
    pub fn read(path: &Path) -> Result<Self, CorpusError> {
        let text = idlewise_files::read_to_string(path).map_err(|e| CorpusError::file(path, e))?;
        let mut downloads: Vec<Download> = Vec::new();
        for (n, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            if line.trim_start().starts_with('#') {
                continue;
            }
            let place = |why: String| CorpusError::file(path, format!("line {}: {why}", n + 1));
            let download = Download::parse(line).map_err(place)?;
            if downloads.iter().any(|d| d.name == download.name) {
                let why = format!("{} is there twice; add another name after one URL", download.name);
                return Err(place(why));
            }
            downloads.push(download);
        }
        if downloads.is_empty() {
            return Err(CorpusError::file(path, "names nothing; expected lines of SHA256 URL [NAME]"));
        }
        Ok(Self { downloads })
    }
}

impl Download {
    fn parse(line: &str) -> Result<Self, String> {
        let words: Vec<&str> = line.split_whitespace().collect();
        let (sha256, url, name) = match words.as_slice() {
            [sha256, url] => (*sha256, *url, url.rsplit('/').next().unwrap_or(url)),
            [sha256, url, name] => (*sha256, *url, *name),
            _ => return Err(format!("{} words; expected SHA256 URL [NAME]", words.len())),
        };
        let sha256 = sha256.to_ascii_lowercase();
        if !is_sha256(&sha256) {
            return Err(format!(
                "{sha256:?} is no SHA-256; expected 64 hex digits, as sha256sum prints them"
            ));
        }
        if !SCHEMES.iter().any(|scheme| url.starts_with(scheme)) {
            return Err(format!("{:?}: expected a URL that begins with {}", shown(url), SCHEMES.join(", ")));
        }
        if let Some(path) = url.strip_prefix("file://") {
            plain(path)?;
        }
        check_id(name).map_err(|why| {
            // What a query has may be a secret.
            let why =
                if name.contains(['?', '@']) { "the URL does not end in a name".to_owned() } else { why };
            format!("{why}; add a name after the URL")
        })?;
        Ok(Self { sha256, url: url.to_owned(), name: name.to_owned() })
    }
}

/// Whether `path`, what stands behind `file://`, is that of a file as it is written: a host, an escape or a query would make it another.
fn plain(path: &str) -> Result<(), String> {
    if path.starts_with('/') && !path.contains(['%', '?', '#', '\\']) {
        return Ok(());
    }
    Err(format!(
        "{}: expected file:///PATH, without a host and without %, ?, # and \\",
        shown(&format!("file://{path}"))
    ))
}

/// `url` without a user's name, a password and a query, which may be secrets.
fn shown(url: &str) -> String {
    let url = url.split(['?', '#']).next().unwrap_or(url);
    let Some((scheme, rest)) = url.split_once("://") else { return url.to_owned() };
    let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let host = host.rsplit('@').next().unwrap_or(host);
    format!("{scheme}://{host}{path}")
}

/// Downloads `download` into `folder`, which is there, and goes on where an earlier attempt ended. A file of the name that is
/// there with another hash is not touched.
///
/// # Errors
/// [`CorpusError::File`] when it cannot be had, or what arrived has another hash; that is removed.
pub fn fetch(download: &Download, folder: &Path) -> Result<Fetched, CorpusError> {
    fetch_at_most(download, folder, LARGEST)
}

/// Fetches as [`fetch`] does, a file of at most `most` bytes.
///
/// # Errors
/// As [`fetch`].
pub fn fetch_at_most(download: &Download, folder: &Path, most: u64) -> Result<Fetched, CorpusError> {
    let path = folder.join(&download.name);
    match hash_of(&path) {
        Ok(hash) if hash.sha256 == download.sha256 => return Ok(Fetched::Already),
        // Whose hash that is, the list's author may not know: it is not printed.
        Ok(_) => {
            let why = format!(
                "is there, and its SHA-256 is not the list's {}: remove it, or give the download another name",
                download.sha256
            );
            return Err(CorpusError::file(&path, why));
        }
        Err(e) if e.kind() == io::ErrorKind::NotFound && fs::symlink_metadata(&path).is_ok() => {
            let why = "is a link to a file that is not there; remove it, or give the download another name";
            return Err(CorpusError::file(&path, why));
        }
        Err(e) if e.kind() == io::ErrorKind::NotFound => {}
        Err(e) => return Err(CorpusError::file(&path, e)),
    }
    // What has not arrived whole, under a name that nobody else gives; a later download goes on there.
    let part = folder.join(format!(".{}.{}.part", download.name, &download.sha256[..16]));
    let there = fs::symlink_metadata(&part);
    if there.as_ref().is_ok_and(|there| !there.is_file()) {
        return Err(CorpusError::file(&part, "is no ordinary file; remove it"));
    }
    let resumed = there.is_ok();
    if !(resumed && arrived(&part)? == download.sha256) {
        let whole = transfer(download, &part, most)?;
        if resumed && !(whole && arrived(&part)? == download.sha256) {
            // What was there was of another file, or more than it.
            fs::remove_file(&part).map_err(|e| CorpusError::file(&part, e))?;
            transfer(download, &part, most)?;
        }
    }
    if arrived(&part)? != download.sha256 {
        fs::remove_file(&part).map_err(|e| CorpusError::file(&part, e))?;
        let why = format!(
            "wrong hash: what arrived from {} has another SHA-256 than {}, which the list has; nothing is kept",
            shown(&download.url),
            download.sha256
        );
        return Err(CorpusError::file(&path, why));
    }
    fs::rename(&part, &path).map_err(|e| CorpusError::file(&path, e))?;
    Ok(Fetched::Arrived)
}

fn arrived(part: &Path) -> Result<String, CorpusError> {
    hash_of(part).map(|hash| hash.sha256).map_err(|e| CorpusError::file(part, e))
}

/// curl's exit status where a server or file has nothing from the end of the part on.
const NOT_RESUMED: [i32; 2] = [33, 36];
/// Its exit status where a server refuses with a status of HTTP.
const REFUSED: i32 = 22;

/// The exit status of curl where a file is larger than allowed, and the signal that ends it where it writes more.
const TOO_LARGE: i32 = 63;
const SIGXFSZ: i32 = Signal::XFSZ.as_raw();

/// Has curl put the file at `part`, from its end on. Whether it could go on there.
fn transfer(download: &Download, part: &Path, most: u64) -> Result<bool, CorpusError> {
    if let Some(of) = download.url.strip_prefix("file://") {
        plain(of).map_err(|why| CorpusError::file(Path::new(of), why))?;
        if fs::metadata(of).is_ok_and(|of| !of.is_file()) {
            return Err(CorpusError::file(Path::new(of), "is no ordinary file; name one"));
        }
    }
    // Nobody's own settings (.curlrc): they may write elsewhere.
    let curl = Command::new("curl")
        .args([
            "--disable",
            "--max-filesize",
            &most.to_string(),
            "--max-time",
            &(most / SLOWEST).max(60).to_string(),
            "--fail",
            "--location",
            "--silent",
            "--show-error",
            "--globoff",
        ])
        .args(["--proto", "=https,http,file", "--proto-redir", "=https,http"])
        .args(["--connect-timeout", "30", "--speed-limit", "1", "--speed-time", "60", "--retry", "2"])
        .args(["--continue-at", "-", "--output"])
        .arg(part)
        .args(["--", &download.url])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn();
    let curl = curl.map_err(|e| CorpusError::File {
        path: "curl".to_owned(),
        why: format!("{e}; install it, it does the downloads"),
    })?;
    // Of a size that the server does not say, curl itself has no limit.
    let limit = Rlimit { current: Some(most), maximum: Some(most) };
    let pid = i32::try_from(curl.id()).ok().and_then(Pid::from_raw);
    let limited = prlimit(pid, Resource::Fsize, limit).map_err(io::Error::from);
    let out = curl.wait_with_output().and_then(|out| limited.map(|_| out));
    let out = out.map_err(|e| CorpusError::File { path: "curl".to_owned(), why: e.to_string() })?;
    if out.status.success() {
        // An empty file is none for curl.
        if !part.exists() {
            fs::write(part, b"").map_err(|e| CorpusError::file(part, e))?;
        }
        return Ok(true);
    }
    let said = String::from_utf8_lossy(&out.stderr);
    let code = out.status.code();
    let no_range =
        code.is_some_and(|code| NOT_RESUMED.contains(&code) || code == REFUSED && said.contains("416"));
    if no_range && part.exists() {
        return Ok(false);
    }
    let said = said.replace(&download.url, &shown(&download.url));
    let mut why = format!("{}: {}", shown(&download.url), said.trim());
    if code == Some(TOO_LARGE) || out.status.signal() == Some(SIGXFSZ) {
        fs::remove_file(part)
            .or_else(|e| if part.exists() { Err(e) } else { Ok(()) })
            .map_err(|e| CorpusError::file(part, e))?;
        why += &format!("; {most} bytes at most are fetched");
    }
    Err(CorpusError::File { path: download.name.clone(), why })
}
