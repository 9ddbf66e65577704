// SPDX-License-Identifier: GPL-2.0-only
//! Is what a kernel says of its own types understood, and are bytes that are no such thing refused?

use std::fs;

use idlewise_recorder::bpf::btf::{Btf, BtfError, Field};
use proptest::prelude::*;

use crate::btf_blob::{ARRAY, Blob, CONST, DATASEC, FUNC_PROTO, INT, PTR, STRUCT, TYPEDEF, UNION, VAR};

/// A struct with everything that kernels have in theirs, a per-CPU variable of it, and a tracepoint.
fn small() -> Blob {
    let mut b = Blob::default();
    let int = b.add("unsigned int", INT, false, 0, 4, &[32]);
    let long = b.add("unsigned long", INT, false, 0, 8, &[64]);
    let array = b.add("", ARRAY, false, 0, 0, &[long, int, 3]);
    let (y, z) = (b.name("y"), b.name("z"));
    let bits = b.add("", STRUCT, true, 2, 4, &[y, int, 3 << 24, z, int, 5 << 24 | 11]);
    let x = b.name("x");
    let choice = b.add("", UNION, false, 2, 4, &[x, int, 0, 0, bits, 0]);
    let (lone, many) = (b.name("lone"), b.name("many"));
    let inner = b.add("inner", STRUCT, false, 2, 32, &[lone, long, 0, many, array, 64]);
    let hard = b.add("", CONST, false, 0, inner, &[]);
    let alias = b.add("alias_t", TYPEDEF, false, 0, hard, &[]);
    let (nested, link) = (b.name("nested"), b.name("link"));
    let pointer = b.add("", PTR, false, 0, inner, &[]);
    let outer = b.add("outer", STRUCT, false, 3, 48, &[0, choice, 32, nested, alias, 64, link, pointer, 320]);
    let variable = b.add("outers", VAR, false, 0, outer, &[1]);
    b.add(".data..percpu", DATASEC, false, 1, 4096, &[variable, 640, 48]);
    let prototype = b.add("", FUNC_PROTO, false, 3, 0, &[0, pointer, 0, int, 0, int]);
    let to = b.add("", PTR, false, 0, prototype, &[]);
    b.add("btf_trace_something", TYPEDEF, false, 0, to, &[]);
    b
}

#[test]
fn members_are_found_by_name_wherever_they_lie() {
    let blob = small();
    let btf = Btf::parse(blob.bytes()).unwrap();
    let plain = |offset, size| Field { offset, size, bits: None };
    assert_eq!(btf.field("outer", "x"), Ok(plain(4, 4)));
    assert_eq!(btf.field("outer", "y"), Ok(Field { offset: 4, size: 4, bits: Some((0, 3)) }));
    assert_eq!(btf.field("outer", "z"), Ok(Field { offset: 5, size: 4, bits: Some((3, 5)) }));
    assert_eq!(btf.field("outer", "nested.many"), Ok(plain(16, 24)));
    assert_eq!(btf.field("outer", "nested"), Ok(plain(8, 32)));
    assert_eq!(btf.field("outer", "link"), Ok(plain(40, 8)));
    assert_eq!(btf.array("inner", "many"), Ok((8, 3)));
    assert_eq!(btf.size_of("outer"), Ok(48));
    assert_eq!(btf.percpu("outers"), Ok(640));
    let tracepoint = btf.tracepoint("something").unwrap();
    assert_eq!((tracepoint.id, tracepoint.args), (blob.count, 2));
}

#[test]
fn what_is_not_there_is_named() {
    let btf = Btf::parse(small().bytes()).unwrap();
    let missing = |e: BtfError| e.to_string();
    assert_eq!(
        missing(btf.field("outer", "nested.none").unwrap_err()),
        "this kernel has no nested.none in struct outer"
    );
    assert_eq!(missing(btf.field("nowhere", "x").unwrap_err()), "this kernel has no struct nowhere");
    // A pointer is not followed.
    assert_eq!(
        missing(btf.field("outer", "link.lone").unwrap_err()),
        "this kernel has no link.lone in struct outer"
    );
    assert_eq!(missing(btf.array("outer", "x").unwrap_err()), "this kernel has no array x in struct outer");
    assert_eq!(missing(btf.percpu("inners").unwrap_err()), "this kernel has no per-CPU variable inners");
    assert!(missing(btf.tracepoint("nothing").unwrap_err()).contains("tracepoint nothing"));
    assert!(matches!(Btf::parse(b"not BTF".to_vec()), Err(BtfError::Malformed(_))));
    assert!(matches!(Btf::parse(Vec::new()), Err(BtfError::Malformed(_))));
    let mut cut = small().bytes();
    cut.truncate(40);
    assert!(matches!(Btf::parse(cut), Err(BtfError::Malformed(_))));
}

/// Asks for all that there is in `small`.
fn ask(btf: &Btf) -> usize {
    let names = ["outer", "inner", "", "alias_t"];
    let paths = ["x", "y", "z", "nested.many", "nested.lone", "link.lone", "none"];
    let fields = names.iter().flat_map(|n| paths.iter().map(|p| btf.field(n, p).is_ok()));
    let found = fields.filter(|found| *found).count();
    found
        + usize::from(btf.array("inner", "many").is_ok())
        + usize::from(btf.size_of("outer").is_ok())
        + usize::from(btf.percpu("outers").is_ok())
        + usize::from(btf.tracepoint("something").is_ok())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn bytes_that_went_wrong_are_refused_or_read_but_never_crash(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..12),
        keep in any::<prop::sample::Index>(),
        cut in any::<bool>(),
    ) {
        let mut bytes = small().bytes();
        for (at, to) in changes {
            let at = at.index(bytes.len());
            bytes[at] = to;
        }
        if cut {
            bytes.truncate(keep.index(bytes.len()));
        }
        if let Ok(btf) = Btf::parse(bytes) {
            prop_assert!(ask(&btf) <= 32);
        }
    }

    #[test]
    fn any_bytes_are_refused_or_read(types in prop::collection::vec(any::<u32>(), 0..64)) {
        // A sound head, so that more than the head is looked at; small words, so that they lead somewhere.
        let blob = Blob { types: types.iter().map(|w| w & 0x9f00_000f).collect(), strings: b"\0outer\0x\0".to_vec(), count: 0 };
        if let Ok(btf) = Btf::parse(blob.bytes()) {
            prop_assert!(ask(&btf) <= 32);
        }
    }
}

#[test]
fn the_running_kernel_says_where_its_idle_loop_keeps_things() {
    let path = "/sys/kernel/btf/vmlinux";
    let Ok(bytes) = fs::read(path) else {
        println!("skipped: no {path}");
        return;
    };
    let size = bytes.len();
    let btf = Btf::parse(bytes).unwrap();
    let device = btf.size_of("cpuidle_device").unwrap();
    for member in ["last_residency_ns", "poll_limit_ns", "states_usage", "cpu"] {
        let field = btf.field("cpuidle_device", member).unwrap();
        assert!(field.size > 0 && field.offset + field.size <= device, "{member}: {field:?}");
    }
    assert_eq!(btf.field("cpuidle_device", "cpu").unwrap().size, 4);
    assert_eq!(btf.field("cpuidle_device", "poll_time_limit").unwrap().bits.map(|b| b.1), Some(1));
    let bases = btf.percpu("hrtimer_bases").unwrap();
    assert!(bases < 1 << 24 && bases != btf.percpu("tick_cpu_sched").unwrap());
    let idle = btf.tracepoint("cpu_idle").unwrap();
    assert_eq!(idle.args, 2);
    assert!((idle.id as usize) < size / 12);
}
