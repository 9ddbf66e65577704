// SPDX-License-Identifier: GPL-2.0-only
//! Does another reader find in a file what was written?

use std::io::Write as _;

use idlewise_columns::{Block, Cell, Column, Form, Kind, Schema};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;
use proptest::prelude::*;

fn column(name: &str, kind: Kind, optional: bool) -> Column {
    let words = if kind == Kind::Text {
        ["WFI", "", "deep \"sleep\", käse"].map(str::to_owned).to_vec()
    } else {
        Vec::new()
    };
    Column { name: name.to_owned(), kind, optional, words }
}

fn columns() -> Vec<Column> {
    vec![
        column("i16", Kind::I16, false),
        column("i32", Kind::I32, true),
        column("other_i32", Kind::I32, false),
        column("i64", Kind::I64, true),
        column("time", Kind::I64, false),
        column("f64", Kind::F64, true),
        column("bool", Kind::Bool, true),
        column("text", Kind::Text, true),
        column("word", Kind::Text, false),
    ]
}

fn file(form: Form, blocks: &[Vec<Vec<Cell>>]) -> Vec<u8> {
    let schema = Schema::new(form, columns());
    let mut out = schema.begin();
    let mut block = schema.block();
    let mut groups = Vec::new();
    for rows in blocks {
        block.clear();
        rows.iter().for_each(|row| block.push(row));
        assert_eq!(Block::rows(&block), rows.len());
        let before = out.len();
        groups.push(schema.encode(&block, &mut out));
        assert_eq!(groups.last().unwrap().bytes, (out.len() - before) as u64);
    }
    out.extend(schema.end(&groups, &[("idlewise.version".to_owned(), "1.2".to_owned())]));
    out
}

/// The cell as the reader has it.
fn field(column: &Column, cell: Cell) -> Field {
    match (cell, column.kind) {
        (Cell::Nothing, _) => Field::Null,
        (Cell::Int(v), Kind::I16) => Field::Short(v as i16),
        (Cell::Int(v), Kind::I32) => Field::Int(v as i32),
        (Cell::Int(v), _) => Field::Long(v),
        (Cell::Real(v), _) => Field::Double(v),
        (Cell::Flag(v), _) => Field::Bool(v),
        (Cell::Word(v), _) => Field::Str(column.words[v as usize].clone()),
    }
}

fn assert_reads_back(blocks: &[Vec<Vec<Cell>>]) {
    let mut written = tempfile::tempfile().unwrap();
    written.write_all(&file(Form::Parquet, blocks)).unwrap();
    let reader = SerializedFileReader::new(written).unwrap();
    let about = reader.metadata().file_metadata();
    assert_eq!(about.num_rows(), blocks.iter().map(Vec::len).sum::<usize>() as i64);
    let pairs = about.key_value_metadata().unwrap();
    assert_eq!((pairs[0].key.as_str(), pairs[0].value.as_deref()), ("idlewise.version", Some("1.2")));
    assert_eq!(reader.num_row_groups(), blocks.len());
    let columns = columns();
    let mut found = reader.get_row_iter(None).unwrap();
    for row in blocks.iter().flatten() {
        let read = found.next().unwrap().unwrap();
        let expected: Vec<Field> = columns.iter().zip(row).map(|(c, cell)| field(c, *cell)).collect();
        let read: Vec<Field> = read.get_column_iter().map(|(_, f)| f.clone()).collect();
        assert_eq!(read, expected);
    }
    assert!(found.next().is_none());
}

fn row() -> impl Strategy<Value = Vec<Cell>> {
    let int = |range: std::ops::RangeInclusive<i64>| range.prop_map(Cell::Int).boxed();
    let or_nothing = |s: BoxedStrategy<Cell>| prop_oneof![s, Just(Cell::Nothing)].boxed();
    let word = || (0_u32..3).prop_map(Cell::Word).boxed();
    let near = prop_oneof![any::<i64>(), -3_i64..3, Just(i64::MIN), Just(i64::MAX)];
    (
        int(-32_768..=32_767),
        or_nothing(int(-5..=65_535)),
        int(i64::from(i32::MIN)..=i64::from(i32::MAX)),
        or_nothing(near.prop_map(Cell::Int).boxed()),
        int(0..=i64::MAX),
        or_nothing((-1e9..1e9).prop_map(Cell::Real).boxed()),
        or_nothing(any::<bool>().prop_map(Cell::Flag).boxed()),
        or_nothing(word()),
        word(),
    )
        .prop_map(|(a, b, c, d, e, f, g, h, i)| vec![a, b, c, d, e, f, g, h, i])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn another_reader_finds_every_cell(
        blocks in proptest::collection::vec(proptest::collection::vec(row(), 0..400), 0..4)
    ) {
        assert_reads_back(&blocks);
    }
}

/// Runs of one value, many values, and neither few nor many of them.
#[test]
fn long_columns_read_back_too() {
    let row = |n: i64| {
        vec![
            Cell::Int(n / 500 % 256),
            if n % 3000 < 2000 { Cell::Int(7) } else { Cell::Nothing },
            Cell::Int(n * 429_496 % (1 << 31)),
            Cell::Int(n * n - 40_000),
            Cell::Int(1_600_000_000_000_000_000 + n * 4_000_000 + n % 7),
            Cell::Real(n as f64 / 3.0),
            Cell::Flag(n % 90 == 0),
            Cell::Nothing,
            Cell::Word((n / 1000 % 3) as u32),
        ]
    };
    let rows: Vec<Vec<Cell>> = (0..9_001).map(row).collect();
    assert_reads_back(&[rows.clone(), rows[..1].to_vec()]);
}

#[test]
fn csv_has_the_same_cells_as_text() {
    let row = vec![
        Cell::Int(1),
        Cell::Nothing,
        Cell::Int(2_000_000_000),
        Cell::Int(-5),
        Cell::Int(6),
        Cell::Real(0.5),
        Cell::Flag(true),
        Cell::Nothing,
        Cell::Word(2),
    ];
    let text = String::from_utf8(file(Form::Csv, &[vec![row.clone()], Vec::new(), vec![row]])).unwrap();
    let line = "1,,2000000000,-5,6,0.5,true,,\"deep \"\"sleep\"\", käse\"\n";
    assert_eq!(text, format!("i16,i32,other_i32,i64,time,f64,bool,text,word\n{line}{line}"));
}
