// SPDX-License-Identifier: GPL-2.0-only
//! Assembler code of a source, and the object of it: it reads no file, and does not choose what the linker runs.

use object::elf::SectionType;
use object::{Object as _, ObjectSection as _, SectionFlags};

/// The first directive in `code`, all that the assembler gets, that makes it read a file. One that a macro of the assembler puts together
/// is not found; the assembler's list of the files that it has read has it.
pub(crate) fn reading_directive(code: &[u8]) -> Option<&'static str> {
    [".incbin", ".include"].into_iter().find(|name| {
        let mut places = code.windows(name.len()).enumerate();
        places.any(|(at, word)| {
            word.eq_ignore_ascii_case(name.as_bytes())
                && code
                    .get(at + name.len()..)
                    .is_some_and(|rest| rest.iter().find(|b| !matches!(b, b' ' | b'\t')) == Some(&b'"'))
        })
    })
}

/// The first section of an object in which a linker looks for options, libraries or code to compile. Every call of the compiler has
/// `-fno-lto`, so that only assembler code of the source makes one.
pub(crate) fn section_of_options(object: &[u8]) -> Option<String> {
    let names = [".gnu.lto_", ".gnu.debuglto_", ".gnu.offload_lto_", ".llvm.", ".deplibs", ".linker-options"];
    // LLVM's linker finds options and libraries by the section's type.
    let types = [0x6fff_4c01, 0x6fff_4c04].map(SectionType);
    let Ok(file) = object::File::parse(object) else { return Some("?".to_owned()) };
    file.sections().find_map(|section| {
        let name = section.name_bytes().unwrap_or(b"?");
        let by_name = name == b"?" || names.iter().any(|prefix| name.starts_with(prefix.as_bytes()));
        let by_type =
            matches!(section.flags(), SectionFlags::Elf { sh_type, .. } if types.contains(&sh_type));
        (by_name || by_type).then(|| name.escape_ascii().to_string())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directive_that_reads_a_file_is_told_from_a_word_like_it() {
        for (code, name) in [("\t.incbin \"/a\"\n", ".incbin"), ("1:;.INCLUDE\t\"/a\"", ".include")] {
            assert_eq!(reading_directive(code.as_bytes()), Some(name), "{code}");
        }
        let others = "\t.file\t\"/x.include/menu.c\"\n\tmovl\t$5, x.include(%rip)\n\t.string\t\".include \\\"a\\\"\"\n";
        assert_eq!(reading_directive(others.as_bytes()), None);
    }
}
