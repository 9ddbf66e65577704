// SPDX-License-Identifier: GPL-2.0-only
//! What stands below the options of a command's help, in its parts.

/// A part of a text: prose whose lines may be filled anew, or lines that stay as they are.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Prose(String),
    Lines(Vec<String>),
}

/// A help's last lines, sorted by what they are.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Notes {
    pub(crate) examples: Vec<Part>,
    pub(crate) others: Vec<Part>,
    /// The sentence that begins with "Exit status:", without these words.
    pub(crate) exit_status: Option<String>,
}

impl Notes {
    /// Of a text in which a line of two spaces and more is a command or a row, and all others are prose. What comes before
    /// the first empty line is examples, if a command is in it.
    pub(crate) fn of(text: &str) -> Self {
        let mut notes = Self::default();
        for (i, block) in text.split("\n\n").enumerate() {
            let parts = parts(block);
            let has_command = block.contains("\n  idlewise ") || block.contains("\n  grep ");
            for part in parts {
                match part {
                    Part::Prose(prose) if prose.contains("Exit status: ") => {
                        let (before, status) = prose.split_once("Exit status: ").unwrap_or(("", &prose));
                        if !before.trim().is_empty() {
                            notes.others.push(Part::Prose(before.trim().to_owned()));
                        }
                        notes.exit_status = Some(status.to_owned());
                    }
                    part if i == 0 && has_command => notes.examples.push(part),
                    part => notes.others.push(part),
                }
            }
        }
        notes
    }
}

fn parts(block: &str) -> Vec<Part> {
    let mut parts = Vec::new();
    for line in block.lines().filter(|line| !line.is_empty() && *line != "Examples:") {
        match (line.strip_prefix("  "), parts.last_mut()) {
            (Some(line), Some(Part::Lines(lines))) => lines.push(line.to_owned()),
            (Some(line), _) => parts.push(Part::Lines(vec![line.to_owned()])),
            (None, Some(Part::Prose(prose))) => *prose += &format!(" {line}"),
            (None, _) => parts.push(Part::Prose(line.to_owned())),
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn examples_notes_and_exit_status_are_told_apart() {
        let text = "Which is\nbetter?\n  idlewise ab x\n\nA row:\n  a  b\nNeeds root. Exit status: 0 done,\n2 failure.";
        let prose = |text: &str| Part::Prose(text.to_owned());
        let lines = |line: &str| Part::Lines(vec![line.to_owned()]);
        let expected = Notes {
            examples: vec![prose("Which is better?"), lines("idlewise ab x")],
            others: vec![prose("A row:"), lines("a  b"), prose("Needs root.")],
            exit_status: Some("0 done, 2 failure.".to_owned()),
        };
        assert_eq!(Notes::of(text), expected);
    }
}
