// SPDX-License-Identifier: GPL-2.0-only
//! Do our governors reproduce the checksums of `governor-behaviour.md` section 15, which were made with compiled
//! kernel code?

use idlewise_governor::{GovernorError, Inputs, Instance, Slot, Spec, catalog};
use idlewise_model::{IdleState, IdleTable};

const TICK_NS: u64 = 4_000_000;

type Load = fn(&Spec, u64) -> Result<Instance, GovernorError>;

/// Exit latencies, target residencies, whether state 0 polls, capacity.
const TABLES: [(&[i64], &[i64], bool, u32); 4] = [
    (&[0, 2_000, 33_000, 133_000], &[0, 2_000, 60_000, 600_000], true, 1024),
    (&[1_000, 150_000, 1_200_000], &[1_000, 900_000, 6_000_000], false, 400),
    (&[1_000, 150_000], &[1_000, 900_000], false, 1024),
    (
        &[0, 1_000, 10_000, 70_000, 200_000, 900_000],
        &[0, 1_000, 20_000, 100_000, 800_000, 6_000_000],
        true,
        1024,
    ),
];

fn table(exits: &[i64], residencies: &[i64], polls: bool) -> IdleTable {
    let states = exits.iter().zip(residencies).enumerate().map(|(i, (exit, residency))| IdleState {
        name: format!("S{i}"),
        exit_latency_ns: *exit,
        target_residency_ns: *residency,
        entry_ns: 0,
        polling: polls && i == 0,
        disabled: false,
    });
    IdleTable::new(states.collect()).unwrap()
}

/// The generator of section 15.
struct Chance(u64);

impl Chance {
    fn draw(&mut self) -> i64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as i64
    }
}

/// The hash over 5000 decisions, and the first 48 of them as base-36 digits.
fn run(governor: &mut Instance, slot: Slot, polls: bool) -> (u64, String) {
    let mut chance = Chance(42);
    let mut r = || chance.draw();
    let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
    let mut first = String::new();
    let mut clock: i64 = 1000;
    let mut stopped = false;
    for k in 0..5000_i64 {
        let a = r() % 100;
        let limit = if a < 80 {
            2_000_000_000_000
        } else if a < 90 {
            30_000
        } else if a < 96 {
            8_000
        } else {
            0
        };
        let (b, x) = (r() % 100, r());
        let mut sleep = x % if b < 30 {
            20_000
        } else if b < 60 {
            500_000
        } else if b < 85 {
            12_000_000
        } else {
            800_000_000
        };
        if k % 64 == 63 {
            sleep = i64::MAX - clock;
        }
        let y = r();
        if stopped && y % 100 < 30 {
            stopped = false;
        }
        let z = r();
        let delta_tick = if stopped { sleep } else { sleep.min(z % 4_000_000) };
        let w = r();
        let util = if w % 100 < 50 { 0 } else { w % 400 };
        let phase = k % 500;
        let disabled = if (200..250).contains(&phase) { 2 } else { u16::from((400..425).contains(&phase)) };
        let random = (r() * 2) as u32;
        // There, nobody but the governor writes the limit of the polling loop.
        let poll_limit_ns = governor.device(slot).poll_limit_ns;
        governor.set_disabled(slot, disabled);
        governor.device(slot).poll_limit_ns = poll_limit_ns;
        let inputs = Inputs {
            now_ns: clock as u64,
            sleep_length_ns: sleep,
            delta_tick_ns: delta_tick,
            latency_limit_ns: limit,
            util: util as u32,
            iowait: u32::from(k % 7 == 0),
            random,
            tick_stopped: stopped,
        };
        let choice = governor.select(slot, &inputs);
        let code =
            4 * choice.index as u64 + 2 * u64::from(choice.stop_tick) + u64::from(choice.asked_sleep_length);
        hash = (hash ^ code).wrapping_mul(0x100_0000_01b3);
        if k < 48 {
            first.push(char::from_digit(code as u32, 36).unwrap());
        }
        stopped |= choice.stop_tick;
        let (c, v, mode) = (r() % 100, r(), k / 128 % 3);
        let mut stay = match mode {
            0 if c < 85 => sleep + v % 3000,
            1 if c < 85 => v % sleep.clamp(1, 400_000),
            2 if c < 30 => v % 20_000,
            2 if c < 60 => v % 500_000,
            _ => v % 12_000_000,
        };
        if stay > 1_000_000_000_000_000 {
            stay = 200_000_000;
        }
        let got_tick = r() % 100 < 15;
        let poll_limit_hit = r() % 100 < 30 && polls && choice.index == 0;
        let rejected = k % 97 == 96;
        if rejected {
            stay = 0;
        }
        clock += stay + 500 + r() % 3000;
        let device = governor.device(slot);
        device.last_residency_ns = stay;
        device.poll_time_limit = poll_limit_hit;
        device.got_tick = got_tick;
        if !rejected {
            governor.reflect(slot, choice.index as usize, clock as u64);
        }
        governor.device(slot).got_tick = false;
        clock += 1000 + r() % 1_000_000;
    }
    (hash, first)
}

/// Of the build for speed, and of the one that gives its reasons.
fn assert_checksums(spec: &str, expected: [u64; 4], first: &str) {
    let spec: Spec = spec.parse().unwrap();
    for (build, load) in [("plain", Instance::load as Load), ("explaining", Instance::load_explaining)] {
        for (i, (exits, residencies, polls, capacity)) in TABLES.into_iter().enumerate() {
            let name = format!("{spec}, {build}, table {}", "ABCD".as_bytes()[i] as char);
            let mut governor = load(&spec, TICK_NS).unwrap();
            let slot = governor.add_cpu(0, &table(exits, residencies, polls), capacity).unwrap();
            let (hash, codes) = run(&mut governor, slot, polls);
            if i == 3 {
                assert_eq!(codes, first, "{name}: first codes");
            }
            assert_eq!(format!("{hash:016x}"), format!("{:016x}", expected[i]), "{name}");
            governor.reset();
            assert_eq!(run(&mut governor, slot, polls).0, hash, "{name}: again after a reset");
        }
    }
}

#[test]
fn menu_5_13() {
    assert_checksums(
        "menu-6.1",
        [0x0f45_62e0_737b_a793, 0x43f1_80ea_9a86_1d19, 0x25b8_0422_7290_e15f, 0x22a2_0901_69dc_b78f],
        "1115555jnnbd9d95n15nbbfbnn5nb7jbnfn1n59b77f7ffnb",
    );
}

#[test]
fn menu_6_1_192() {
    assert_checksums(
        "menu-6.1:rejected_endless=1",
        [0x9211_2151_cef5_6dc5, 0xd571_3475_70d9_d13d, 0xbb21_ce44_f88f_2a55, 0xd355_4efd_d8e9_ed35],
        "11155d5jnnbd9d95n15nbbfbnn5nb7jbnfn1n59b77f7ffnb",
    );
}

#[test]
fn menu_6_12_117() {
    assert_checksums(
        "menu-6.12",
        [0x1bad_8c84_cada_b504, 0xb9f6_aeca_8026_849f, 0x9fdb_59ca_0c39_345f, 0x4955_e62b_d062_c803],
        "50075d5nnnbd9dd5n15nbbfbnn5nb7jbnfn5n59b77f7ffnb",
    );
}

#[test]
fn menu_7_1() {
    assert_checksums(
        "menu",
        [0x918d_f9fe_3d93_1419, 0x3622_a46c_02d6_ea4a, 0x65d5_83a6_0c30_be0a, 0xd21a_d2d9_0b11_583f],
        "50075d5nnnbd9dd5n15nbbfbnn5nb7jbnfn5n59b77f7ffnb",
    );
}

#[test]
fn teo_5_14() {
    assert_checksums(
        "teo-6.1",
        [0x3e77_5400_68dd_f3fd, 0x911c_96f7_7a08_0d45, 0x9407_b3e4_6cb6_e641, 0xa5af_e7b7_d99f_5ee3],
        "5n775d5nnnbd9dd5n15nbbfbnn5nb7jbnfn5n59b77f7ffnb",
    );
}

#[test]
fn teo_6_3() {
    assert_checksums(
        "teo-util",
        [0x9ed2_cd07_ef5b_4231, 0xd899_c3b5_473a_7583, 0xc0a9_4490_3f4e_775d, 0x996e_4828_c60c_0027],
        "5j77595njj7d99d5n15n7bbbnn5nb7j7nbn5j55b77f7ffj7",
    );
}

#[test]
fn ladder() {
    assert_checksums(
        "ladder",
        [0xab98_609e_a05c_2bdd, 0x6482_b1ef_20bf_d97d, 0x5ea9_94a2_9064_cb45, 0xb670_73bb_ab67_628d],
        "6666a6666aaaaaaee26666aaaa6666aaaaaaeeeaa66666aa",
    );
}

#[test]
fn haltpoll_6_9() {
    assert_checksums(
        "haltpoll",
        [0xec35_66b0_cb02_6845, 0x3ae8_1a97_ea82_0f83, 0x3ae8_1a97_ea82_0f83, 0xec35_66b0_cb02_6845],
        "600000600000600000600000000600066600006000600600",
    );
}

#[test]
fn teo_5_5() {
    assert_checksums(
        "teo-5.6",
        [0x485a_5700_4a81_113f, 0xcc1d_5d7d_68e3_c6f7, 0x7654_1eb2_dcb4_d99d, 0x0654_6ed5_8b14_428d],
        "5n7b5d5nnnfdddd5n75nffffnn5nf7jfnfn5n59f77f7ffnb",
    );
}

#[test]
fn wteo_v1() {
    assert_checksums(
        "teo-weighted:posted_ring=1",
        [0x7ec9_d7ef_f833_217f, 0xf2e9_fab8_8f0e_e149, 0x66a1_3fdb_77f2_da59, 0x6f65_137f_c6de_d229],
        "5n7b5d5nnnfdddd5n75nffffnn5nf7jfnfn5n59f77f7ffnb",
    );
}

#[test]
fn wteo_v2() {
    assert_checksums(
        "teo-weighted:posted_ring=1,draw=1,learning_rate=10,own_weight=6000,other_weight=4000",
        [0x3779_1ff3_0867_6a1b, 0xf254_e11e_ef17_0991, 0x9169_b6b2_2a6a_8d85, 0x5e9c_3e85_09ce_4685],
        "5n7b5d5nnnfdddd5n75nffffnn5nf7jfnfn5n59f77f7ffnb",
    );
}

#[test]
fn teo_ua1() {
    assert_checksums(
        "teo-util-v1",
        [0xc450_ed46_4e0c_51ed, 0x779b_78e2_edb0_16ab, 0xc551_d9c1_bf09_1cdf, 0x5da1_05f1_a77e_1ae9],
        "1157115n111d91d1n15n3b3bnn5nb3j3n3n1111b77f7ff33",
    );
}

#[test]
fn teo_6_6() {
    assert_checksums(
        "teo-6.6",
        [0xf2e5_ceb5_957e_bbb2, 0x1829_8047_628d_acd6, 0x6966_42bf_8262_e545, 0xfd00_fc4a_02b1_f202],
        "5jb45d5njnbd9dd5n05nbbnbnn4nbnnbnnn4j59bnnn4nnnn",
    );
}

#[test]
fn teo_6_12_64() {
    assert_checksums(
        "teo-6.12",
        [0x9fbc_0f53_81af_1f32, 0xe0c0_4a68_3879_265e, 0xc7f5_7e43_b91d_b575, 0x7a3a_499e_0d3d_877c],
        "5n745d5nnnbd9dd5n05nbbfbnn4nb7jbnfn5n59b77f4ffnb",
    );
}

#[test]
fn teo_6_11() {
    assert_checksums(
        "teo-6.12:residency_guard=1",
        [0x162a_a1fe_3523_465f, 0x9106_5151_fb23_0436, 0xffb8_2754_74d7_8ced, 0x4312_0f92_da24_585a],
        "5nb45d5nnnbd9dd5n05nbbnbnn4nbnnbnnn5n59bnnn4nnnn",
    );
}

#[test]
fn teo_7_1() {
    assert_checksums(
        "teo",
        [0xef50_7a03_8c5d_b8c5, 0xbd21_3e17_0507_df8e, 0x8ecb_1760_f596_c508, 0x39cc_f1db_ad3a_8819],
        "0n775d5nnnbd9dd5n05nbbfbnn5nb7jbnfn5n59b77f7ffnb",
    );
}

/// `teo-fixed` with the first patches of the series only.
fn assert_patches(first: usize, expected: [u64; 4], codes: &str) {
    const PATCHES: [&str; 6] = [
        "higher_util_threshold",
        "keep_tick_utilised",
        "stop_tick_one_state",
        "tick_margin",
        "no_recent_intercepts",
        "no_fake_intercepts",
    ];
    let off: Vec<String> = PATCHES[first..].iter().map(|p| format!("{p}=0")).collect();
    let spec = if off.is_empty() { "teo-fixed".to_owned() } else { format!("teo-fixed:{}", off.join(",")) };
    assert_checksums(&spec, expected, codes);
}

#[test]
fn teo_fixed_without_patches_is_teo_6_6() {
    assert_patches(
        0,
        [0xf2e5_ceb5_957e_bbb2, 0x1829_8047_628d_acd6, 0x6966_42bf_8262_e545, 0xfd00_fc4a_02b1_f202],
        "5jb45d5njnbd9dd5n05nbbnbnn4nbnnbnnn4j59bnnn4nnnn",
    );
}

#[test]
fn teo_cl1() {
    assert_patches(
        1,
        [0x14d1_a0aa_9ffc_fa7c, 0xabf6_c0f0_c7b3_3d7d, 0xe025_c37f_9239_922c, 0x4d76_fc22_a912_bb62],
        "5jb45d5nnnbd9dd5n05nbbnbnn4nbnnbnnn5n59bnnn4nnnn",
    );
}

#[test]
fn teo_cl2() {
    assert_patches(
        2,
        [0x14d1_a0aa_9ffc_fa7c, 0xabf6_c0f0_c7b3_3d7d, 0x6a5d_044b_15e6_caa8, 0x4d76_fc22_a912_bb62],
        "5jb45d5nnnbd9dd5n05nbbnbnn4nbnnbnnn5n59bnnn4nnnn",
    );
}

#[test]
fn teo_cl3() {
    assert_patches(
        3,
        [0x14d1_a0aa_9ffc_fa7c, 0xabf6_c0f0_c7b3_3d7d, 0x6a5d_044b_15e6_caa8, 0x4d76_fc22_a912_bb62],
        "5jb45d5nnnbd9dd5n05nbbnbnn4nbnnbnnn5n59bnnn4nnnn",
    );
}

#[test]
fn teo_cl4() {
    assert_patches(
        4,
        [0xb1a5_a2a3_9567_833c, 0x8c54_3bdf_92c0_b1ca, 0xb52b_b6d8_a051_c5e6, 0x1562_45a9_0917_79e2],
        "5jb45d5nnnbd9dd5n05nbbnbnn4nbnnbnnn5n59bnnn4nnnn",
    );
}

#[test]
fn teo_cl5() {
    assert_patches(
        5,
        [0xddc1_9c0e_8f37_b172, 0xdcde_8328_a2e8_af69, 0xe9d9_6fe1_c286_cb16, 0x0664_6127_274b_1a6b],
        "5jb45d5nnnbd9dd5n05nbbnbnn4nbnnbnnn5n59bnnn4nnnn",
    );
}

#[test]
fn teo_cl6() {
    assert_patches(
        6,
        [0x0733_fa4f_e8eb_47ed, 0xb124_2210_f878_ddfa, 0xb2cf_7568_2e3a_1349, 0x3ab1_9fde_3d77_ebf7],
        "5jb45d5nnnbd9dd5n05nbbnbnn4nbnnbnnn5n59bnnn4nnnn",
    );
}

/// The header by which the KUnit tests of `kernel/overlay` know what to expect: the same sequence in user space, for the
/// ticks that kernels have.
fn expected_in_the_kernel() -> String {
    let mut out = "/* SPDX-License-Identifier: GPL-2.0-only */\n\
         /*\n * Hashes of the decisions of decisions-test.c on tables A to D, made in user space\n \
         * by: IDLEWISE_UPDATE_DATA=1 cargo test -p idlewise-governor --test governor checksums::\n */\n\
         #ifndef IDLEWISE_DECISIONS_EXPECTED_H\n#define IDLEWISE_DECISIONS_EXPECTED_H\n\n\
         #include <linux/types.h>\n\n\
         struct iw_expected {\n\tconst char *governor;\n\tu64 hash[4];\n};\n\n\
         static const struct iw_expected iw_all_expected[] = {\n"
        .to_owned();
    for (branch, hz) in [("#if", 100), ("#elif", 250), ("#elif", 300), ("#elif", 1000)] {
        out += &format!("{branch} HZ == {hz}\n");
        for governor in catalog() {
            let hashes = TABLES.map(|(exits, residencies, polls, capacity)| {
                let tick_ns = (1_000_000_000 + hz / 2) / hz;
                let mut instance = Instance::load(&Spec::new(governor.id), tick_ns).unwrap();
                let slot = instance.add_cpu(0, &table(exits, residencies, polls), capacity).unwrap();
                format!("0x{:016x}ULL", run(&mut instance, slot, polls).0)
            });
            let [a, b, c, d] = hashes;
            out += &format!("\t{{ \"{}\",\n\t  {{ {a}, {b},\n\t    {c}, {d} }} }},\n", governor.id);
        }
    }
    out + "#else\n#error \"no expectations for this HZ\"\n#endif\n};\n\n#endif\n"
}

#[test]
fn the_kernels_tests_expect_what_user_space_does() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../kernel/overlay/idlewise/decisions-expected.h");
    let expected = expected_in_the_kernel();
    if std::env::var_os("IDLEWISE_UPDATE_DATA").is_some() {
        std::fs::write(path, &expected).unwrap();
    }
    assert!(
        std::fs::read_to_string(path).is_ok_and(|is| is == expected),
        "{path} is old: write it anew with IDLEWISE_UPDATE_DATA=1 cargo test -p idlewise-governor --test governor checksums::"
    );
}
