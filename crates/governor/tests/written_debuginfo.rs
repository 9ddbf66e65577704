// SPDX-License-Identifier: GPL-2.0-only
//! What does debugging information do that a governor's author wrote by hand?

use crate::common;

use common::{Bench, Parts, TICK_NS, table};
use idlewise_governor::{Build, Value, Variable};

/// Abbreviations, by number: a unit, a variable, a structure, a nameless and a named member, an integer, an array, a dimension, and a
/// unit that has lines only.
const ABBREVIATIONS: &str = r#"
.pushsection .debug_abbrev,"",@progbits
.Labbreviations:
.uleb128 1; .uleb128 0x11; .byte 1; .uleb128 0; .uleb128 0
.uleb128 2; .uleb128 0x34; .byte 0; .uleb128 3; .uleb128 8; .uleb128 0x49; .uleb128 0x13; .uleb128 2; .uleb128 0x18; .uleb128 0; .uleb128 0
.uleb128 3; .uleb128 0x13; .byte 1; .uleb128 0xb; .uleb128 7; .uleb128 0; .uleb128 0
.uleb128 4; .uleb128 0xd; .byte 0; .uleb128 0x49; .uleb128 0x13; .uleb128 0x38; .uleb128 7; .uleb128 0; .uleb128 0
.uleb128 5; .uleb128 0xd; .byte 0; .uleb128 3; .uleb128 8; .uleb128 0x49; .uleb128 0x13; .uleb128 0x38; .uleb128 7; .uleb128 0; .uleb128 0
.uleb128 6; .uleb128 0x24; .byte 0; .uleb128 0xb; .uleb128 7; .uleb128 0x3e; .uleb128 0xb; .uleb128 0; .uleb128 0
.uleb128 7; .uleb128 0x1; .byte 1; .uleb128 0x49; .uleb128 0x13; .uleb128 0; .uleb128 0
.uleb128 8; .uleb128 0x21; .byte 0; .uleb128 0x37; .uleb128 7; .uleb128 0; .uleb128 0
.uleb128 9; .uleb128 0x11; .byte 0; .uleb128 0x10; .uleb128 0x17; .uleb128 0; .uleb128 0
.byte 0
.popsection
"#;

/// A governor of which assembler code describes the variable `written`, of the type at `.Ltype`, with `types`.
fn described(types: &str) -> String {
    assembled(&format!(
        r#"{ABBREVIATIONS}
.pushsection .debug_info,"",@progbits
.Lunit: .long .Lend-.Lbegin
.Lbegin: .value 4; .long .Labbreviations; .byte 8
.uleb128 1
.uleb128 2; .asciz "written"; .long .Ltype-.Lunit; .uleb128 9; .byte 3; .quad mine+1
.Lint: .uleb128 6; .quad 4; .byte 5
{types}
.byte 0
.Lend:
.popsection
"#
    ))
}

fn assembled(code: &str) -> String {
    let lines: String = code
        .lines()
        .map(|line| format!("\"{}\\n\"\n", line.replace('\\', "\\\\").replace('"', "\\\"")))
        .collect();
    let top = format!(
        "#include <linux/percpu.h>\nstatic DEFINE_PER_CPU(long, mine);\nint numbers[4] = {{ 1, 2, 3, 4 }};\n__asm__({lines});"
    );
    Parts { top: &top, select: "this_cpu_inc(mine); numbers[0]++;", ..Parts::default() }.text()
}

/// The variables that explaining the governor shows, if assembler code of this form can be had here.
fn shown(text: &str) -> Option<Vec<Variable>> {
    if !cfg!(target_arch = "x86_64") {
        eprintln!("skipped: the assembler code is x86-64's");
        return None;
    }
    let bench = Bench::new();
    let governor = bench.governor(text);
    Some(
        governor
            .run(|loader| {
                let mut instance = loader.load_explaining(TICK_NS)?;
                let slot = instance.add_cpu(0, &table(), 1024)?;
                Ok(instance.memory(slot))
            })
            .unwrap(),
    )
}

/// How many values there are, of parts and of wholes.
fn values(value: &Value) -> usize {
    match value {
        Value::Struct(members) => members.iter().map(|m| values(&m.value)).sum::<usize>() + 1,
        Value::Array(elements) => elements.iter().map(values).sum::<usize>() + 1,
        _ => 1,
    }
}

#[test]
fn places_and_sizes_may_be_any_numbers() {
    let inner =
        r#".Linner: .uleb128 3; .quad 8; .uleb128 5; .asciz "a"; .long .Lint-.Lunit; .quad 4; .byte 0"#;
    let around =
        ".Ltype: .uleb128 3; .quad 8; .uleb128 4; .long .Linner-.Lunit; .quad 0xffffffffffffffff; .byte 0";
    let large = ".Llarge: .uleb128 3; .quad 0x4000000000000000; .byte 0";
    let array = ".Ltype: .uleb128 7; .long .Llarge-.Lunit; .uleb128 8; .quad 60000; .byte 0";
    let wide = ".Ltype: .uleb128 6; .quad 0x2000000000000000; .byte 5";
    for types in [format!("{inner}\n{around}"), format!("{large}\n{array}"), wide.to_owned()] {
        let Some(variables) = shown(&described(&types)) else { return };
        assert!(variables.iter().any(|v| v.name == "numbers"), "{types}: {variables:?}");
    }
}

#[test]
fn an_array_of_many_dimensions_is_not_taken_apart() {
    for dimensions in [1_000, 400_000] {
        let types = format!(
            ".Ltype: .uleb128 7; .long .Lint-.Lunit\n.rept {dimensions}\n.uleb128 8; .quad 1\n.endr\n.byte 0"
        );
        let Some(variables) = shown(&described(&types)) else { return };
        let written = variables.iter().find(|v| v.name == "written");
        assert!(written.is_none_or(|v| v.value == Value::Other), "{variables:?}");
    }
}

#[test]
fn all_variables_together_have_few_values() {
    let name = |i: usize| format!("static volatile char many_{i}[65536];\n");
    let top: String = (0..300).map(name).collect();
    let select: String = (0..300).map(|i| format!("many_{i}[0]++;\n")).collect();
    let text = Parts {
        top: &format!("{top}#include <linux/percpu.h>\nstatic DEFINE_PER_CPU(int, mine);"),
        select: &select,
        ..Parts::default()
    }
    .text();
    let Some(variables) = shown(&text.replace("return 0;", "this_cpu_inc(mine);\n\treturn 0;")) else {
        return;
    };
    let all: usize = variables.iter().map(|v| values(&v.value)).sum();
    assert!(variables.len() > 300 && (65_536..150_000).contains(&all), "{all} of {}", variables.len());
}

/// With a table of `files` files and `rows` rows, of which the sanitizer's copy finds lines.
#[test]
fn a_long_table_of_lines_is_read_in_time_or_not_at_all() {
    for (files, rows) in [(60_000, 3_000_000), (60_000, 20_000_000), (1, 3_000_000)] {
        let code = format!(
            r#"{ABBREVIATIONS}
.pushsection .debug_info,"",@progbits
.long .Lend-.Lbegin
.Lbegin: .value 4; .long .Labbreviations; .byte 8
.uleb128 9; .long .Ltable
.Lend:
.popsection
.pushsection .debug_line.x,"",@progbits
.Ltable: .long .Ltable_end-.Ltable_begin
.Ltable_begin: .value 4; .long .Lhead_end-.Lhead
.Lhead: .byte 1; .byte 1; .byte 1; .byte 0; .byte 1; .byte 10; .byte 0,1,1,1,1,0,0,0,1
.byte 0
.altmacro
.macro file n
.asciz "f\n"
.byte 0,0,0
.endm
.set i,0
.rept {files}
file %i
.set i,i+1
.endr
.noaltmacro
.byte 0
.Lhead_end:
.byte 0; .uleb128 9; .byte 2; .quad 0
.set i,1
.rept {files}
.byte 4
.uleb128 i
.byte 1
.set i,i+1
.endr
.fill {rows},1,10
.byte 0; .uleb128 1; .byte 1
.Ltable_end:
.popsection
"#
        );
        if !cfg!(target_arch = "x86_64") {
            return;
        }
        let bench = Bench::new();
        let governor = bench.governor(&assembled(&code)).built(Build::Sanitized).unwrap();
        #[expect(clippy::disallowed_methods, reason = "no result depends on it")]
        let start = std::time::Instant::now();
        governor.run(|loader| loader.load(TICK_NS).map(drop)).unwrap();
        assert!(start.elapsed().as_secs() < 5, "{files} files, {rows} rows: {:?}", start.elapsed());
    }
}
