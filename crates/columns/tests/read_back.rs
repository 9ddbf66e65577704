// SPDX-License-Identifier: GPL-2.0-only
//! Does another reader find in a file what was written?

use std::io::{Cursor, Write as _};

use arrow_array::cast::AsArray as _;
use arrow_array::types::{Float64Type, Int16Type, Int32Type, Int64Type};
use arrow_array::{Array as _, RecordBatch};
use arrow_ipc::reader::FileReader as ArrowReader;
use idlewise_columns::{Block, Cell, Column, DataTable, Form, Kind, Schema, TooLarge, Value};
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

/// A cell of a batch, as the reader of Parquet has it.
fn arrow_field(batch: &RecordBatch, kind: Kind, column: usize, row: usize) -> Field {
    let cells = batch.column(column);
    match kind {
        _ if cells.is_null(row) => Field::Null,
        Kind::I16 => Field::Short(cells.as_primitive::<Int16Type>().value(row)),
        Kind::I32 => Field::Int(cells.as_primitive::<Int32Type>().value(row)),
        Kind::I64 => Field::Long(cells.as_primitive::<Int64Type>().value(row)),
        Kind::F64 => Field::Double(cells.as_primitive::<Float64Type>().value(row)),
        Kind::Bool => Field::Bool(cells.as_boolean().value(row)),
        Kind::Text => Field::Str(cells.as_string::<i32>().value(row).to_owned()),
    }
}

/// The names of the columns of an Arrow file, and its rows by batch. The reader checks lengths, offsets and texts.
fn read_arrow(kinds: &[Kind], file: &[u8]) -> (Vec<String>, Vec<Vec<Vec<Field>>>) {
    let reader = ArrowReader::try_new(Cursor::new(file), None).unwrap();
    let names = reader.schema().fields().iter().map(|f| f.name().clone()).collect();
    assert_eq!(reader.schema().metadata()["idlewise.version"], "1.2");
    let rows = |batch: RecordBatch| {
        let row = |row| kinds.iter().enumerate().map(|(n, k)| arrow_field(&batch, *k, n, row)).collect();
        (0..batch.num_rows()).map(row).collect()
    };
    (names, reader.map(|batch| rows(batch.unwrap())).collect())
}

fn assert_arrow_reads_back(blocks: &[Vec<Vec<Cell>>]) {
    let columns = columns();
    let kinds: Vec<Kind> = columns.iter().map(|c| c.kind).collect();
    let (names, read) = read_arrow(&kinds, &file(Form::Arrow, blocks));
    assert_eq!(names, columns.iter().map(|c| c.name.clone()).collect::<Vec<_>>());
    let as_read = |row: &Vec<Cell>| columns.iter().zip(row).map(|(c, cell)| field(c, *cell)).collect();
    let expected: Vec<Vec<Vec<Field>>> =
        blocks.iter().map(|rows| rows.iter().map(as_read).collect()).collect();
    assert_eq!(read, expected);
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
        assert_arrow_reads_back(&blocks);
    }

    #[test]
    fn a_table_is_the_same_in_all_forms((kinds, rows) in data_table()) {
        assert_table_reads_back(&kinds, &rows);
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
    let blocks = [rows.clone(), rows[..1].to_vec()];
    assert_reads_back(&blocks);
    assert_arrow_reads_back(&blocks);
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

/// A cell of a column of this kind, or nothing.
fn value(kind: Kind) -> BoxedStrategy<Value> {
    let value = match kind {
        Kind::Text => "[a-c=é\\PC]{0,4}".prop_map(Value::from).boxed(),
        Kind::Bool => any::<bool>().prop_map(Value::Flag).boxed(),
        Kind::F64 => {
            prop_oneof![any::<f64>().prop_map(Value::from), any::<u32>().prop_map(Value::from)].boxed()
        }
        _ => any::<i64>().prop_map(Value::from).boxed(),
    };
    prop_oneof![4 => value, 1 => Just(Value::Nothing)].boxed()
}

/// Kinds of columns, and rows of them.
fn data_table() -> impl Strategy<Value = (Vec<Kind>, Vec<Vec<Value>>)> {
    let kinds = proptest::sample::select(vec![Kind::Text, Kind::I64, Kind::F64, Kind::Bool]);
    proptest::collection::vec(kinds, 1..7).prop_flat_map(|kinds| {
        let row = kinds.iter().map(|k| value(*k)).collect::<Vec<_>>();
        (Just(kinds), proptest::collection::vec(row, 0..60))
    })
}

fn read_parquet(file: Vec<u8>) -> (Vec<String>, Vec<Vec<Field>>) {
    let mut written = tempfile::tempfile().unwrap();
    written.write_all(&file).unwrap();
    let reader = SerializedFileReader::new(written).unwrap();
    let schema = reader.metadata().file_metadata().schema_descr_ptr();
    let names = schema.columns().iter().map(|c| c.name().to_owned()).collect();
    let row = |row: parquet::record::Row| row.get_column_iter().map(|(_, f)| f.clone()).collect();
    (names, reader.get_row_iter(None).unwrap().map(|r| row(r.unwrap())).collect())
}

fn assert_table_reads_back(kinds: &[Kind], rows: &[Vec<Value>]) {
    let names: Vec<String> = (0..kinds.len()).map(|n| format!("column {n}")).collect();
    let mut table = DataTable::new(names.iter().cloned().zip(kinds.iter().copied()));
    rows.iter().for_each(|row| table.push(row.clone()));
    let about = [("idlewise.version".to_owned(), "1.2".to_owned())];
    let [parquet, arrow] = [Form::Parquet, Form::Arrow].map(|form| {
        let bytes = table.encode(form, &about).unwrap();
        assert_eq!(bytes, table.encode(form, &about).unwrap());
        bytes
    });
    let expected: Vec<Vec<Field>> = rows
        .iter()
        .map(|row| {
            let cell = |(kind, value): (&Kind, &Value)| match value {
                Value::Nothing => Field::Null,
                Value::Integer(v) if *kind == Kind::F64 => Field::Double(*v as f64),
                Value::Integer(v) => Field::Long(*v as i64),
                Value::Number(v) => Field::Double(*v),
                Value::Flag(v) => Field::Bool(*v),
                Value::Text(v) => Field::Str(v.clone()),
            };
            kinds.iter().zip(row).map(cell).collect()
        })
        .collect();
    assert_eq!(read_parquet(parquet), (names.clone(), expected.clone()));
    assert_eq!(read_arrow(kinds, &arrow), (names, vec![expected]));
}

#[test]
fn what_is_empty_or_no_number_is_nothing_and_what_is_too_large_is_refused() {
    assert_eq!(["", "a"].map(Value::from), [Value::Nothing, Value::Text("a".to_owned())]);
    assert_eq!([f64::NAN, 0.5].map(Value::from), [Value::Nothing, Value::Number(0.5)]);
    let mut table = DataTable::new([("n", Kind::I64), ("x", Kind::F64)]);
    table.push(vec![Value::from(i64::MIN), Value::from(u64::MAX)]);
    table.push(Vec::new());
    assert_eq!(table.rows()[1], [Value::Nothing, Value::Nothing]);
    let arrow = table.encode(Form::Arrow, &[("idlewise.version".to_owned(), "1.2".to_owned())]).unwrap();
    let read = read_arrow(&[Kind::I64, Kind::F64], &arrow).1;
    assert_eq!(read[0][0], [Field::Long(i64::MIN), Field::Double(u64::MAX as f64)]);
    table.push(vec![Value::from(u64::MAX)]);
    for form in [Form::Parquet, Form::Arrow] {
        let refused = TooLarge { column: "n".to_owned(), number: u64::MAX.into() };
        assert_eq!(table.encode(form, &[]), Err(refused));
    }
}

#[test]
#[should_panic(expected = "in the column n of kind int64")]
fn a_cell_of_another_kind_is_a_mistake_of_ours() {
    DataTable::new([("n", Kind::I64)]).push(vec![Value::Flag(true)]);
}
