// SPDX-License-Identifier: GPL-2.0-only
//! Patches in mails: an mbox, a file of `git format-patch`, a folder of them.

use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use idlewise_recording::CommandError;
use mailparse::{MailHeaderMap as _, ParsedMail};

/// No series has more patches: each is compiled and replayed, and a version of the governors kept for it.
const MOST_PATCHES: usize = 1000;
/// No more mails are read, patches or not.
const MOST_MAILS: usize = 20_000;

/// Characters of a subject that are kept: a longer one is none.
pub(crate) const MOST_SUBJECT: usize = 400;

/// A mail, or a patch without one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mail {
    /// Without what stands in brackets.
    pub(crate) subject: String,
    /// `v3` of a series; 1 where the subject has none.
    version: u32,
    /// `2/5`: its number; nothing where the subject has none.
    number: Option<u32>,
    /// `2/5`: how many there are.
    pub(crate) of: Option<u32>,
    /// An answer to another mail, which quotes patches and is none.
    is_reply: bool,
    pub(crate) text: String,
    /// The name of its file.
    pub(crate) file: String,
    /// The line of the file, from 1, that the text begins with; nothing where the text is encoded, or of several parts.
    first_line: Option<usize>,
}

impl Mail {
    /// Line `n` of the text as people find it: the line of the file, or words.
    pub(crate) fn line(&self, n: u32) -> Result<u32, String> {
        let in_file = self.first_line.and_then(|first| u32::try_from(first).ok());
        in_file.map(|first| first + n - 1).ok_or_else(|| format!("line {n} of the mail's text"))
    }

    fn has_patch(&self) -> bool {
        let mut before = "";
        for line in self.text.lines() {
            if line.starts_with("diff --git ") || (before.starts_with("--- ") && line.starts_with("+++ ")) {
                return true;
            }
            before = line;
        }
        false
    }
}

/// The patches of a series in their order, and what to know about the mails.
pub(crate) fn series(paths: &[PathBuf]) -> Result<(Vec<Mail>, Vec<String>), CommandError> {
    let mut files = Vec::new();
    for path in paths {
        if !path.is_dir() {
            files.push(path.clone());
            continue;
        }
        let inside = patches_in(path)?;
        if inside.is_empty() {
            let why = "no file ends in .patch, .diff, .mbox or .eml; expected those of git format-patch, or an mbox";
            return Err(CommandError::input(path, why));
        }
        files.extend(inside);
    }
    let Some(path) = paths.first() else { return Err(CommandError::not_given("SERIES", "no series given")) };
    let several = files.len() > 1;
    let mut mails = Vec::new();
    let mut bytes = 0;
    for file in &files {
        let more = read(file)?;
        bytes += more.iter().map(|mail| mail.text.len() as u64).sum::<u64>();
        mails.extend(more);
        if bytes > idlewise_files::LARGEST_MADE || mails.len() > MOST_MAILS {
            let why = format!(
                "{} mails with {} MiB up to {}: at most {MOST_MAILS} with {} MiB are read; name only the series",
                mails.len(),
                bytes >> 20,
                file.display(),
                idlewise_files::LARGEST_MADE >> 20
            );
            return Err(CommandError::input(path, why));
        }
    }
    let all = mails.len();
    mails.retain(|mail| mail.has_patch() && !mail.is_reply);
    if mails.is_empty() {
        let why = match all {
            0 => "it is empty".to_owned(),
            _ => format!(
                "{all} mails or files, and no patch in any of them (answers that quote one do not count)"
            ),
        };
        return Err(CommandError::input(path, format!("no patch: {why}")));
    }
    let mut notes = Vec::new();
    let newest = mails.iter().map(|m| m.version).max().unwrap_or(1);
    let older = mails.iter().filter(|m| m.version < newest).count();
    if older > 0 {
        notes.push(format!("{older} patches of older versions are left out; this is version {newest}"));
        mails.retain(|mail| mail.version == newest);
    }
    // Files of a folder without numbers keep the order of their names.
    if !several || mails.iter().all(|m| m.number.is_some()) {
        mails.sort_by_key(|mail| mail.number);
    }
    let before = mails.len();
    mails.dedup_by(|a, b| a.number.is_some() && a.number == b.number && a.text == b.text);
    if mails.len() < before {
        notes.push("patches that are there twice count once".to_owned());
    }
    if mails.len() > MOST_PATCHES {
        let why = format!(
            "a series of {} patches: at most {MOST_PATCHES} are judged; name only those of interest",
            mails.len()
        );
        return Err(CommandError::input(path, why));
    }
    if let Some(of) = mails.iter().filter_map(|m| m.of).max() {
        let there = |n: &u32| mails.iter().any(|m| m.number == Some(*n));
        let missing: Vec<String> =
            (1..=of.min(999)).filter(|n| !there(n)).map(|n| format!("{n}/{of}")).collect();
        if !missing.is_empty() && mails.iter().any(|m| m.number.is_some()) {
            notes.push(format!("not among the mails: {}", missing.join(", ")));
        }
    }
    Ok((mails, notes))
}

fn patches_in(folder: &Path) -> Result<Vec<PathBuf>, CommandError> {
    let entries = fs::read_dir(folder).map_err(|e| CommandError::file(folder, e))?;
    let mut out = Vec::new();
    for entry in entries {
        let path = entry.map_err(|e| CommandError::file(folder, e))?.path();
        let ending = path.extension().and_then(|e| e.to_str()).unwrap_or("");
        if path.is_file() && ["patch", "diff", "mbox", "eml"].contains(&ending) {
            out.push(path);
        }
    }
    out.sort();
    Ok(out)
}

/// The mails of a file; one that is no mail is one patch.
fn read(path: &Path) -> Result<Vec<Mail>, CommandError> {
    let wrong = |e: std::io::Error| CommandError::file(path, e);
    let mut raw = idlewise_files::read_within(path, idlewise_files::LARGEST_MADE).map_err(wrong)?;
    if raw.starts_with(&[0x1f, 0x8b]) {
        let mut text = Vec::new();
        let packed = flate2::read::MultiGzDecoder::new(raw.as_slice());
        let largest = idlewise_files::LARGEST_MADE;
        let read = packed.take(largest + 1).read_to_end(&mut text);
        let read = read.map_err(|e| CommandError::file(path, format!("gzip: {e}")))?;
        if read as u64 > largest {
            let why = format!("holds more than {} MiB; split it, or name only the series", largest >> 20);
            return Err(CommandError::file(path, why));
        }
        raw = text;
    }
    let name = path.file_name().map_or_else(String::new, |n| n.to_string_lossy().into_owned());
    if !raw.starts_with(b"From ") && !has_headers(&raw) {
        let text = String::from_utf8_lossy(&raw).into_owned();
        return Ok(vec![Mail {
            subject: name.clone(),
            version: 1,
            number: None,
            of: None,
            is_reply: false,
            text,
            file: name,
            first_line: Some(1),
        }]);
    }
    let mails = split(&raw);
    if mails.len() > MOST_MAILS {
        let why = format!("{} mails: at most {MOST_MAILS} are read; name only the series", mails.len());
        return Err(CommandError::file(path, why));
    }
    mails.into_iter().map(|(line, mail)| parse(path, &name, &mail, line)).collect()
}

/// Whether it begins as a mail does.
fn has_headers(raw: &[u8]) -> bool {
    let first = raw.split(|b| *b == b'\n').next().unwrap_or_default();
    let name = first.split(|b| *b == b':').next().unwrap_or_default();
    first.len() > name.len()
        && !name.is_empty()
        && name.iter().all(|b| b.is_ascii_alphanumeric() || *b == b'-')
}

/// The mails of an mbox, each with the line, from 1, of its first header. A line that begins one says when it was sent, and a header
/// follows it: others that begin with "From " are text.
fn split(raw: &[u8]) -> Vec<(usize, Vec<u8>)> {
    let mut out: Vec<(usize, Vec<u8>)> = Vec::new();
    let mut rest = raw;
    for (n, line) in raw.split_inclusive(|b| *b == b'\n').enumerate() {
        rest = rest.get(line.len()..).unwrap_or_default();
        let begins = line.starts_with(b"From ") && is_dated(line) && has_headers(rest);
        if begins || out.is_empty() {
            out.push((n + 1 + usize::from(begins), Vec::new()));
        }
        if begins {
            continue;
        }
        // mboxrd: one mark for each writing.
        let unmarked = line.strip_prefix(b">").filter(|rest| {
            let marks = rest.iter().take_while(|b| **b == b'>').count();
            rest.get(marks..).is_some_and(|text| text.starts_with(b"From "))
        });
        if let Some((_, mail)) = out.last_mut() {
            mail.extend_from_slice(unmarked.unwrap_or(line));
        }
    }
    out
}

/// `From SOMEBODY ... hh:mm:ss ...`
fn is_dated(line: &[u8]) -> bool {
    let words = line.split(|b| b.is_ascii_whitespace());
    words.into_iter().any(|w| w.len() == 8 && w.get(2) == Some(&b':') && w.get(5) == Some(&b':'))
}

/// A mail whose first header is `line` of the file.
fn parse(path: &Path, name: &str, raw: &[u8], line: usize) -> Result<Mail, CommandError> {
    let wrong =
        |e: mailparse::MailParseError| CommandError::input(path, format!("a mail cannot be read: {e}"));
    let mail = mailparse::parse_mail(raw).map_err(wrong)?;
    let header = |name: &str| mail.headers.get_first_value(name);
    let given = header("Subject").unwrap_or_else(|| name.to_owned());
    let (marks, subject) = marks(&given);
    let replies = subject.get(..3).is_some_and(|start| start.eq_ignore_ascii_case("re:"));
    let is_reply = replies || given.trim_start().to_ascii_lowercase().starts_with("re:");
    let (version, number) = numbered(&marks);
    let mut text = String::new();
    bodies(&mail, &mut text).map_err(wrong)?;
    let encoding = header("Content-Transfer-Encoding").unwrap_or_else(|| "8bit".to_owned());
    let as_is = ["7bit", "8bit", "binary"].iter().any(|e| encoding.trim().eq_ignore_ascii_case(e));
    let mut headers = raw.split_inclusive(|b| *b == b'\n');
    let headers = headers.position(|line| line.iter().all(u8::is_ascii_whitespace));
    let first_line = headers.filter(|_| as_is && mail.subparts.is_empty()).map(|headers| line + headers + 1);
    Ok(Mail {
        file: name.to_owned(),
        first_line,
        subject: subject
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ")
            .chars()
            .take(MOST_SUBJECT)
            .collect(),
        version,
        number: number.map(|(n, _)| n),
        of: number.map(|(_, of)| of),
        is_reply,
        text,
    })
}

/// The texts of a mail, attached patches among them.
fn bodies(mail: &ParsedMail<'_>, text: &mut String) -> Result<(), mailparse::MailParseError> {
    if mail.subparts.is_empty() {
        let kind = mail.ctype.mimetype.as_str();
        if kind.starts_with("text/") && kind != "text/html" {
            *text += &mail.get_body()?.replace("\r\n", "\n");
        }
        return Ok(());
    }
    mail.subparts.iter().try_for_each(|part| bodies(part, text))
}

/// What stands in brackets at the start of a subject, and the rest.
fn marks(subject: &str) -> (String, &str) {
    let (mut marks, mut rest) = (String::new(), subject.trim());
    while let Some((inside, after)) = rest.strip_prefix('[').and_then(|r| r.split_once(']')) {
        marks = format!("{marks} {inside}");
        rest = after.trim_start();
    }
    (marks, rest)
}

/// `PATCH v3 2/5`: the version, and the number of how many.
fn numbered(marks: &str) -> (u32, Option<(u32, u32)>) {
    let (mut version, mut number) = (1, None);
    for word in marks.split([' ', ',']) {
        if let Some(n) = word.strip_prefix(['v', 'V']).and_then(|n| n.parse().ok()) {
            version = n;
        } else if let Some((n, of)) = word.split_once('/') {
            number = n.parse().ok().zip(of.parse().ok()).or(number);
        }
    }
    (version, number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const DIFF: &str = "--- a/x.c\n+++ b/x.c\n@@ -1 +1 @@\n-a\n+b\n";

    fn mail(subject: &str, body: &str) -> String {
        format!("From abc Mon Sep 17 00:00:00 2001\nFrom: A <a@b.c>\nSubject: {subject}\n\n{body}\n")
    }

    fn subjects(text: &str) -> (Vec<String>, Vec<String>) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.mbox");
        fs::write(&path, text).unwrap();
        let (mails, notes) = series(std::slice::from_ref(&path)).unwrap();
        (mails.into_iter().map(|m| m.subject).collect(), notes)
    }

    #[test]
    fn patches_stand_in_the_order_of_their_numbers_without_cover_letter_and_answers() {
        let text = [
            mail("[PATCH v2 0/2] cover", "says much"),
            mail("[PATCH v2 2/2] two", DIFF),
            mail("Re: [PATCH v2 2/2] two", &format!("well:\n{DIFF}")),
            mail("[PATCH v2 1/2] one", &format!("From now on text.\n\n{DIFF}")),
            mail("[PATCH 1/1] old", DIFF),
        ]
        .concat();
        let (subjects, notes) = subjects(&text);
        assert_eq!(subjects, ["one", "two"]);
        assert_eq!(notes, ["1 patches of older versions are left out; this is version 2"]);
    }

    #[test]
    fn more_mails_than_a_series_has_are_refused_with_the_limit() {
        let refused = |text: &str| {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("t.mbox");
            fs::write(&path, text).unwrap();
            series(&[path]).unwrap_err().to_string()
        };
        let patches: String = (0..=MOST_PATCHES).map(|n| mail(&format!("[PATCH] {n}"), DIFF)).collect();
        let said = refused(&patches);
        assert!(said.contains("a series of 1001 patches: at most 1000 are judged"), "{said}");
        let said = refused(&mail("hello", "x").repeat(MOST_MAILS + 1));
        assert!(said.contains("20001 mails: at most 20000 are read; name only the series"), "{said}");
    }

    #[test]
    fn what_is_missing_is_noted_and_encodings_are_undone() {
        let body = DIFF.replace('=', "=3D").replace("+b", "+b =3D 1");
        let text =
            mail("=?UTF-8?q?[PATCH_2/3]_caf=C3=A9?=\nContent-Transfer-Encoding: quoted-printable", &body);
        let (subjects, notes) = subjects(&text);
        assert_eq!(subjects, ["caf\u{e9}"]);
        assert_eq!(notes, ["not among the mails: 1/3, 3/3"]);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.mbox");
        fs::write(&path, text).unwrap();
        assert!(series(std::slice::from_ref(&path)).unwrap().0[0].text.contains("+b = 1\n"));
    }

    #[test]
    fn lines_of_a_text_are_those_of_the_file_unless_it_is_encoded() {
        let text = [mail("[PATCH 1/2] one", DIFF), mail("[PATCH 2/2] two", DIFF)].concat();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.mbox");
        let read = |text: &str| {
            fs::write(&path, text).unwrap();
            series(std::slice::from_ref(&path)).unwrap().0
        };
        for mail in read(&text) {
            let line = mail.line(2).unwrap() as usize;
            assert_eq!((text.lines().nth(line - 1), mail.file.as_str()), (Some("+++ b/x.c"), "t.mbox"));
        }
        assert_eq!(read(DIFF)[0].line(3), Ok(3));
        let encoded = mail("x\nContent-Transfer-Encoding: quoted-printable", DIFF);
        assert_eq!(read(&encoded)[0].line(3), Err("line 3 of the mail's text".to_owned()));
    }

    #[test]
    fn what_has_no_patch_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let said = series(&[folder.path().to_owned()]).unwrap_err().to_string();
        assert!(said.contains("no file ends in .patch"), "{said}");
        let path = folder.path().join("a.patch");
        fs::write(&path, "no diff here\n").unwrap();
        let said = series(std::slice::from_ref(&path)).unwrap_err().to_string();
        assert!(said.contains("no patch"), "{said}");
        let said = series(&[folder.path().join("none")]).unwrap_err().to_string();
        assert!(said.contains("none"), "{said}");
    }

    proptest! {
        #[test]
        fn no_mailbox_is_too_strange(text in "(From a 12:34:56 2026\n|Subject: |Content-Type: |multipart/mixed; boundary=b|\n|--b|[\\[]PATCH 1/|=|.){0,60}") {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("t.mbox");
            fs::write(&path, text).unwrap();
            let _ = series(&[path]);
        }
    }
}
