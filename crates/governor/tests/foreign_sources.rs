// SPDX-License-Identifier: GPL-2.0-only
//! Does a foreign governor's source bring anything into its object, or into a message, that is not its own?

use crate::common;

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use common::{Bench, Parts, not_compiled, run};
use idlewise_governor::{Governor, GovernorSource, Spec, Workshop};

fn named(path: &Path) -> GovernorSource {
    GovernorSource::named_by_user(Spec::new(path.to_str().unwrap()))
}

/// A workshop with a cache of its own, whose compiler is `script`.
fn with_script(bench: &Bench, script: &str) -> (Workshop, PathBuf) {
    let (compiler, cache) = (bench.file("compiler", script), bench.folder.path().join("cache"));
    fs::set_permissions(&compiler, fs::Permissions::from_mode(0o755)).unwrap();
    (bench.workshop().with_cache(&cache).with_compiler(compiler.to_str().unwrap()), cache)
}

#[test]
fn what_no_list_of_files_would_have_is_refused() {
    let top = "__asm__(\".section .rodata\\n.incbin \\\"mine.c\\\"\\n.previous\");";
    not_compiled(
        &Parts { top, ..Parts::default() }.text(),
        &["mine.c`: `.incbin` makes the assembler read a file"],
    );
    let top = "__asm__(\".INCLUDE\\t\\\"/dev/null\\\"\");";
    not_compiled(&Parts { top, ..Parts::default() }.text(), &["mine.c`: `.include` makes the assembler"]);
    // In parts, so that no such word stands anywhere, and by a macro of the assembler.
    let parts = "__asm__(\".section .rodata\\n.inc\" \"bin \\\"/etc/passwd\\\"\\n.previous\");";
    not_compiled(&Parts { top: parts, ..Parts::default() }.text(), &["`.incbin` makes the assembler read"]);
    let by_macro = "__asm__(\".macro take what\\n.inc\\\\what \\\"/etc/passwd\\\"\\n.endm\\n.data\\ntake bin\\n.text\");";
    not_compiled(
        &Parts { top: by_macro, ..Parts::default() }.text(),
        &["its assembler code includes /etc/passwd, whose changes"],
    );
    // A file of its own may change in a comment, which is nothing to the compiler.
    let bench = Bench::new();
    let header = bench.file("own.h", "#if 0\n.byte 1\n#endif\n");
    for (name, directive) in
        [(&header, "lude"), (&header, "bin"), (&bench.folder.path().join("mine.c"), "bin")]
    {
        let name = name.canonicalize().unwrap_or_else(|_| name.clone());
        let top = format!(
            "#include \"own.h\"\n__asm__(\".macro take what\\n.inc\\\\what \\\"{}\\\"\\n.endm\\n.data\\ntake {directive}\\n.text\");",
            name.display()
        );
        let own = bench.file("mine.c", &Parts { top: &top, ..Parts::default() }.text());
        let said = bench.find(&own, "").unwrap_err().to_string();
        assert!(
            said.contains("its assembler code includes") && said.contains(name.to_str().unwrap()),
            "{said}"
        );
    }
    // A member of a structure may have that name.
    let top = "struct mine {\n\tint include;\n} it;";
    let governor =
        Bench::new().governor(&Parts { top, select: "it.include = 1;", ..Parts::default() }.text());
    run(&governor, 1).unwrap();
    for other in ["/dev/stdin", "/etc/hostname"] {
        let text = Parts { top: &format!("#include \"{other}\""), ..Parts::default() }.text();
        not_compiled(&text, &[&format!("it includes {other}, which is neither next to the governor nor")]);
    }
    // A name that a list shows as two of the governor's own.
    let bench = Bench::new();
    let own = bench.file("mine.c", &Parts::default().text());
    let broken = own.with_file_name("mine.c\n");
    fs::write(&broken, "x").unwrap();
    let name = broken.to_str().unwrap().replace('\n', "\\\\n");
    let top = format!(
        "__asm__(\".macro take what\\n.inc\\\\what \\\"{name}\\\"\\n.endm\\n.data\\ntake bin\\n.text\");"
    );
    bench.file("mine.c", &Parts { top: &top, ..Parts::default() }.text());
    let said = bench.find(&own, "").unwrap_err().to_string();
    assert!(said.contains("a file with a line break in its name"), "{said}");
}

/// A compiler's message may quote the file.
#[test]
fn no_word_of_a_file_elsewhere_is_shown() {
    let elsewhere = tempfile::NamedTempFile::new().unwrap();
    fs::write(elsewhere.path(), "#TOPSECRET\nint x = OTHERSECRET;\n").unwrap();
    let bench = Bench::new();
    let top = format!("#include \"{}\"", elsewhere.path().display());
    let path = bench.file("mine.c", &Parts { top: &top, ..Parts::default() }.text());
    let said = bench.find(&path, "").unwrap_err().to_string();
    assert!(!said.contains("SECRET") && said.contains("neither next to the governor"), "{said}");
    fs::write(elsewhere.path(), "int x = OTHERSECRET;\n").unwrap();
    let said = bench.find(&path, "").unwrap_err().to_string();
    assert!(!said.contains("SECRET") && said.contains("neither next to the governor"), "{said}");
    // By way of a folder of its own; and by a link, which a list of files does not show as one.
    let link = bench.file("linux/x.h", "");
    fs::remove_file(&link).unwrap();
    std::os::unix::fs::symlink(elsewhere.path(), &link).unwrap();
    let path = bench.file("mine.c", &Parts { top: "#include <linux/x.h>", ..Parts::default() }.text());
    let said = bench.find(&path, "").unwrap_err().to_string();
    assert!(!said.contains("SECRET") && said.contains("neither next to the governor"), "{said}");
}

/// An assembler quotes what it does not know of a file that it reads, and a message about the source what a macro stands for.
#[test]
fn no_word_of_a_file_that_assembler_code_or_a_macro_reads_is_shown() {
    let elsewhere = tempfile::NamedTempFile::new().unwrap();
    fs::write(elsewhere.path(), "#define KEY TOPSECRET\n.TOPSECRET\nTOPSECRET\n").unwrap();
    let bench = Bench::new();
    let folder = bench.folder.path().canonicalize().unwrap();
    let absolute = elsewhere.path().canonicalize().unwrap().display().to_string();
    let relative = format!("{}{absolute}", "../".repeat(folder.components().count() + 20));
    for name in [&absolute, &relative] {
        let tops = [
            format!("__asm__(\".inc\" \"lude \\\"{name}\\\"\");"),
            format!("__asm__(\".macro take what\\n.inc\\\\what \\\"{name}\\\"\\n.endm\\ntake lude\");"),
            format!("__asm__(\".irp what,lude\\n.inc\\\\what \\\"{name}\\\"\\n.endr\");"),
            format!("#include \"{name}\"\n#if KEY KEY\n#endif\n"),
            format!(
                "#include \"{name}\"\n#line 1 \"{}\"\n#if KEY KEY\n#endif\n",
                folder.join("mine.c").display()
            ),
        ];
        for top in tops {
            let path = bench.file("mine.c", &Parts { top: &top, ..Parts::default() }.text());
            let said = bench.find(&path, "").unwrap_err().to_string();
            assert!(!said.contains("SECRET"), "{said}");
        }
    }
    // Of what is the source's own, the place is named.
    let top = "__asm__(\"nonsense 1\");";
    let path = bench.file("mine.c", &Parts { top, ..Parts::default() }.text());
    let said = bench.find(&path, "").unwrap_err().to_string();
    assert!(said.contains("mine.c: the assembler does not accept its"), "{said}");
}

/// A path that begins in idlewise's headers and leads out of them is no header of idlewise's.
#[test]
fn a_path_out_of_the_headers_is_refused() {
    let elsewhere = tempfile::NamedTempFile::new().unwrap();
    let shown = elsewhere.path().canonicalize().unwrap();
    for text in ["#define A 1\n", "int x = OTHERSECRET;\n", "#TOPSECRET\n", "#error TOPSECRET\n"] {
        fs::write(elsewhere.path(), text).unwrap();
        let up = "/..".repeat(40);
        let top = format!("#include <linux{up}{}>", shown.display());
        let bench = Bench::new();
        let path = bench.file("mine.c", &Parts { top: &top, ..Parts::default() }.text());
        let said = bench.find(&path, "").unwrap_err().to_string();
        assert!(said.contains(shown.to_str().unwrap()) && said.contains("neither next to"), "{said}");
        assert!(!said.contains("SECRET") && !said.contains(".."), "{said}");
    }
}

/// A compiler quotes the file that `#line` names.
#[test]
fn a_file_that_a_line_claims_to_be_in_is_not_read() {
    let bench = Bench::new();
    let other = bench.file("other", "TOPSECRET\n");
    let top = format!("#line 1 \"{}\"\n#warning one\n#line 1 \"a: error: b\"\n#error two\n", other.display());
    let path = bench.file("mine.c", &Parts { top: &top, ..Parts::default() }.text());
    let said = bench.find(&path, "").unwrap_err().to_string();
    assert!(said.contains("two") && !said.contains("SECRET"), "{said}");
}

/// Code for a later compilation, its options, and libraries stand in sections of an object.
#[test]
fn an_object_does_not_choose_what_the_linker_runs() {
    for name in [".gnu.lto_.opts", ".gnu.offload_lto_.opts", ".gnu.lto_main.0.1f", ".llvm.lto", ".deplibs"] {
        let top = format!("__asm__(\".section {name},\\\"e\\\",@progbits\\n.string \\\"-v\\\"\\n.text\");");
        let words = ["mine.c", &format!("a section `{name}`, which chooses what the linker runs")];
        not_compiled(&Parts { top: &top, ..Parts::default() }.text(), &words);
    }
    let top = "__asm__(\".section mine,\\\"\\\",@0x6fff4c04\\n.string \\\"m\\\"\\n.text\");";
    not_compiled(&Parts { top, ..Parts::default() }.text(), &["a section `mine`, which chooses"]);
    // A compiler that is called with it in CC makes such sections of C.
    let bench = Bench::new();
    let path = bench.file("mine.c", &Parts { select: "return 1;", ..Parts::default() }.text());
    let governor = Governor::open_in(&named(&path), &bench.workshop().with_compiler("cc -flto")).unwrap();
    assert_eq!(run(&governor, 1).unwrap(), [(1, true); 2]);
}

/// A header that was compiled before is in no list of files, and may hold anything.
#[test]
fn a_precompiled_header_is_not_taken() {
    let bench = Bench::new();
    for (header, top) in [("linux/kconfig.h", ""), ("own.h", "#include \"own.h\"\n")] {
        let select = "#ifndef STATE\n#define STATE 1\n#endif\n\treturn STATE;";
        let path = bench.file("mine.c", &Parts { top, select, ..Parts::default() }.text());
        let header = bench.file(header, "#define STATE 2\n");
        let mut compiler = std::process::Command::new("gcc");
        let flags = include_str!("../../../governors/shim/flags").lines().filter(|l| !l.starts_with('#'));
        let flags = flags.filter(|l| !l.starts_with("-Wl,") && !["-shared", "-nostartfiles"].contains(l));
        compiler.args(flags).args(["-nostdinc", "-D__KERNEL__", "-g", "-fno-delete-null-pointer-checks"]);
        compiler
            .args(["-x", "c-header", "-c"])
            .arg(&header)
            .arg("-o")
            .arg(format!("{}.gch", header.display()));
        if !compiler.status().is_ok_and(|s| s.success()) {
            eprintln!("skipped: gcc does not compile a header");
            return;
        }
        fs::write(&header, "#define STATE 0\n").unwrap();
        let governor = bench.find(&path, "").unwrap();
        assert_eq!(run(&governor, 1).unwrap()[0].0, 0, "{}", header.display());
        fs::remove_file(&header).unwrap();
    }
}

/// An object is what the preprocessor's text makes, by which it is kept, and not what the files have become meanwhile.
#[test]
fn a_file_that_is_saved_while_it_is_compiled_is_not_half_old() {
    let bench = Bench::new();
    let header = bench.file("own.h", "#define STATE 0\n");
    let text = Parts { top: "#include \"own.h\"", select: "return STATE;", ..Parts::default() }.text();
    let path = bench.file("mine.c", &text);
    // It goes on when the header was saved.
    let script = format!(
        "#!/bin/sh\ncc \"$@\" || exit\ncase \" $* \" in *' -E '*)\n: >$TMPDIR/seen\nuntil grep -q 1 {0}; do sleep 0.01; done;; esac\n",
        header.display()
    );
    let (workshop, cache) = with_script(&bench, &script);
    let first = std::thread::scope(|scope| {
        scope.spawn(|| {
            let seen = || {
                fs::read_dir(&cache).into_iter().flatten().flatten().any(|e| e.path().join("seen").exists())
            };
            while !seen() {
                std::thread::sleep(std::time::Duration::from_millis(5));
            }
            fs::write(&header, "#define STATE 1\n").unwrap();
        });
        Governor::open_in(&named(&path), &workshop).unwrap()
    });
    assert_eq!(run(&first, 1).unwrap()[0].0, 0);
    let second = Governor::open_in(&named(&path), &workshop).unwrap();
    assert_eq!(run(&second, 1).unwrap()[0].0, 1);
}

#[test]
fn another_assembler_makes_another_object() {
    let bench = Bench::new();
    let path = bench.file("mine.c", &Parts::default().text());
    let assembler = bench.file("as", "#!/bin/sh\nexec as \"$@\"\n");
    fs::set_permissions(&assembler, fs::Permissions::from_mode(0o755)).unwrap();
    let (workshop, cache) = with_script(
        &bench,
        &format!(
            "#!/bin/sh\ncase $1$2 in *prog-name=as) echo {}; exit;; esac\nexec cc \"$@\"\n",
            assembler.display()
        ),
    );
    let kept = || {
        Governor::open_in(&named(&path), &workshop).unwrap();
        let names = fs::read_dir(&cache).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap());
        names.filter(|name| name.ends_with(".governor")).count()
    };
    assert_eq!([kept(), kept()], [1, 1]);
    fs::write(&assembler, "#!/bin/sh\n# of another release\nexec as \"$@\"\n").unwrap();
    assert_eq!(kept(), 2);
}
