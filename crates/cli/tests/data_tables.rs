// SPDX-License-Identifier: GPL-2.0-only
//! Are CSV, Parquet and Arrow the same table, of the columns that docs/reference/data-tables.md lists? Other people's readers
//! read the files. `IDLEWISE_UPDATE_DOCS=1 cargo test --workspace --locked --test cli data_tables::` writes the page anew; read it
//! then.

use std::fmt::Write as _;
use std::fs;
use std::io::Cursor;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use arrow_array::cast::AsArray as _;
use arrow_array::types::{Float64Type, Int16Type, Int32Type, Int64Type};
use arrow_array::{Array as _, RecordBatch};
use arrow_ipc::reader::FileReader as ArrowReader;
use idlewise_columns::Kind;
use parquet::file::reader::{FileReader as _, SerializedFileReader};
use parquet::record::Field;

use crate::house::root;

/// A table as a reader has it: columns by name and kind, then cells.
#[derive(Debug, PartialEq)]
struct Read {
    columns: Vec<(String, &'static str)>,
    rows: Vec<Vec<Field>>,
    about: Vec<(String, String)>,
}

fn read_parquet(path: &Path) -> Read {
    let reader = SerializedFileReader::new(fs::File::open(path).unwrap()).unwrap();
    let about = reader.metadata().file_metadata();
    let columns = about.schema_descr().columns().iter();
    let kind = |c: &parquet::schema::types::ColumnDescriptor| match c.physical_type() {
        parquet::basic::Type::INT32 if c.converted_type() == parquet::basic::ConvertedType::INT_16 => {
            Kind::I16
        }
        parquet::basic::Type::INT32 => Kind::I32,
        parquet::basic::Type::INT64 => Kind::I64,
        parquet::basic::Type::DOUBLE => Kind::F64,
        parquet::basic::Type::BOOLEAN => Kind::Bool,
        parquet::basic::Type::BYTE_ARRAY => Kind::Text,
        other => panic!("{}: {other}", path.display()),
    };
    let pairs = about.key_value_metadata().into_iter().flatten();
    let row = |row: parquet::record::Row| row.get_column_iter().map(|(_, f)| f.clone()).collect();
    Read {
        columns: columns.map(|c| (c.name().to_owned(), kind(c).name())).collect(),
        rows: reader.get_row_iter(None).unwrap().map(|r| row(r.unwrap())).collect(),
        about: pairs.map(|p| (p.key.clone(), p.value.clone().unwrap())).collect(),
    }
}

fn read_arrow(path: &Path) -> Read {
    let reader = ArrowReader::try_new(Cursor::new(fs::read(path).unwrap()), None).unwrap();
    let schema = reader.schema();
    let kind = |text: String| match text.as_str() {
        "Int16" => Kind::I16,
        "Int32" => Kind::I32,
        "Int64" => Kind::I64,
        "Float64" => Kind::F64,
        "Boolean" => Kind::Bool,
        "Utf8" => Kind::Text,
        other => panic!("{}: {other}", path.display()),
    };
    let kinds: Vec<Kind> = schema.fields().iter().map(|f| kind(f.data_type().to_string())).collect();
    let cell = |batch: &RecordBatch, column: usize, row: usize| {
        let cells = batch.column(column);
        match kinds[column] {
            _ if cells.is_null(row) => Field::Null,
            Kind::I16 => Field::Short(cells.as_primitive::<Int16Type>().value(row)),
            Kind::I32 => Field::Int(cells.as_primitive::<Int32Type>().value(row)),
            Kind::I64 => Field::Long(cells.as_primitive::<Int64Type>().value(row)),
            Kind::F64 => Field::Double(cells.as_primitive::<Float64Type>().value(row)),
            Kind::Bool => Field::Bool(cells.as_boolean().value(row)),
            Kind::Text => Field::Str(cells.as_string::<i32>().value(row).to_owned()),
        }
    };
    let rows = |batch: RecordBatch| {
        let row = |row| (0..kinds.len()).map(|column| cell(&batch, column, row)).collect();
        (0..batch.num_rows()).map(row).collect::<Vec<Vec<Field>>>()
    };
    let mut about: Vec<(String, String)> =
        schema.metadata().iter().map(|(name, text)| (name.clone(), text.clone())).collect();
    about.sort();
    Read {
        columns: schema.fields().iter().zip(&kinds).map(|(f, k)| (f.name().clone(), k.name())).collect(),
        rows: reader.flat_map(|batch| rows(batch.unwrap())).collect(),
        about,
    }
}

/// Whether the cell of CSV is that of the file.
fn is_same(csv: &str, field: &Field) -> bool {
    match field {
        Field::Null => csv.is_empty(),
        Field::Long(v) => csv == v.to_string(),
        // CSV has all digits of a whole number.
        Field::Double(v) => csv.parse() == Ok(*v),
        Field::Bool(v) => csv == v.to_string(),
        Field::Str(text) => csv == idlewise_report::csv_text(text),
        other => panic!("{other:?}"),
    }
}

/// The cells of CSV, line by line.
fn csv_cells(text: &[u8]) -> Vec<Vec<String>> {
    let mut reader = csv::ReaderBuilder::new().has_headers(false).from_reader(text);
    reader.records().map(|line| line.unwrap().iter().map(str::to_owned).collect()).collect()
}

fn idlewise(arguments: &[&str], folder: &Path) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_idlewise"));
    command.args(arguments).current_dir(folder).stdin(Stdio::null()).output().unwrap()
}

fn done(arguments: &[&str], folder: &Path) -> Vec<u8> {
    let o = idlewise(arguments, folder);
    assert_eq!(o.status.code(), Some(0), "{arguments:?}: {}", String::from_utf8_lossy(&o.stderr));
    o.stdout
}

/// A machine of two CPUs, as files.
fn machine(root: &Path) {
    for (cpu, state) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
        let folder = root.join(format!("sys/devices/system/cpu/cpu{cpu}/cpuidle/state{state}"));
        fs::create_dir_all(&folder).unwrap();
        for (file, value) in [("name", "C,1"), ("usage", "10"), ("time", "5000"), ("above", "1")] {
            fs::write(folder.join(file), value).unwrap();
        }
    }
}

/// `stateN_name` of `state3_name`.
fn as_declared(name: &str) -> String {
    let number = name.strip_prefix("state").and_then(|rest| rest.split_once('_'));
    match number {
        Some((n, rest)) if n.parse::<u32>().is_ok() => format!("stateN_{rest}"),
        _ => name.to_owned(),
    }
}

#[test]
fn csv_parquet_and_arrow_are_the_same_table_of_every_command() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    machine(&here.join("machine"));
    for name in ["mixed", "sleeploop"] {
        for end in ["dat", "toml"] {
            let from = root().join(format!("tests/data/{name}.{end}"));
            fs::copy(from, here.join(format!("{name}.{end}"))).unwrap();
        }
    }
    // A name that a spreadsheet would compute is itself where no spreadsheet reads it.
    fs::copy(here.join("mixed.dat"), here.join("=1+1,.dat")).unwrap();
    fs::copy(here.join("mixed.toml"), here.join("=1+1,.toml")).unwrap();
    for (command, arguments) in [
        ("replay", &["replay", "=1+1,.dat", "sleeploop.dat", "--per", "cpu", "-g", "menu,teo,oracle"][..]),
        ("score", &["score", "mixed.dat", "--per", "cluster"]),
        ("compare", &["compare", "-g", "menu,teo-util", "mixed.dat", "--platform", "pixel6"]),
        ("explain", &["explain", "mixed.dat", "-g", "menu", "--after", "1", "--others", "teo"]),
        ("explain", &["explain", "mixed.dat", "--why-differ", "menu,teo"]),
        ("info", &["info", "mixed.dat"]),
        ("simulate", &["simulate", "timer", "-g", "menu,teo", "--seconds", "1", "--repeat", "2"]),
        (
            "simulate --power-limit",
            &[
                "simulate",
                "timer",
                "-p",
                "jasper-lake",
                "-g",
                "menu",
                "-s",
                "1",
                "--power-limit",
                "pl1=4W..5W/1W:1s",
            ],
        ),
        ("reproduce", &["reproduce", "pelt-times"]),
        ("diff", &["diff", "mixed.dat", "sleeploop.dat"]),
        ("advise", &["advise", "mixed.dat"]),
    ] {
        let csv = csv_cells(&done(&[arguments, &["-f", "csv"]].concat(), here));
        for file in ["x.parquet", "x.arrow"] {
            done(&[arguments, &["-o", file]].concat(), here);
        }
        // A file of the same name from the same command has the same bytes.
        let again = fs::read(here.join("x.arrow")).unwrap();
        fs::remove_file(here.join("x.arrow")).unwrap();
        done(&[arguments, &["-o", "x.arrow"]].concat(), here);
        assert_eq!(fs::read(here.join("x.arrow")).unwrap(), again, "{arguments:?}");
        assert_same(command, &csv, here);
    }
    // What a machine does in one interval it does in no other: its file is read only.
    let top = ["top", "--once", "--interval", "0.1", "--root", "machine", "-o"];
    done(&[&top[..], &["x.parquet"]].concat(), here);
    let read = read_parquet(&here.join("x.parquet"));
    assert_eq!(read.rows.len(), 3);
    assert_declared("top --once", &read);
}

/// Compares the files with `csv` and removes them.
fn assert_same(command: &str, csv: &[Vec<String>], here: &Path) {
    let [parquet, arrow] = [here.join("x.parquet"), here.join("x.arrow")];
    let read = read_parquet(&parquet);
    let other = read_arrow(&arrow);
    assert_eq!((&read.columns, &read.rows), (&other.columns, &other.rows), "{command}");
    for about in [&read.about, &other.about] {
        let mut names: Vec<&str> = about.iter().map(|(name, _)| name.as_str()).collect();
        names.sort_unstable();
        assert_eq!(names, ["idlewise.command", "idlewise.inputs", "idlewise.version"]);
        let command = &about.iter().find(|(name, _)| name == "idlewise.command").unwrap().1;
        assert!(command.starts_with("[\"idlewise\","), "{command}");
    }
    assert_declared(command, &read);
    assert!(!read.rows.is_empty(), "{command}");
    assert_eq!(read.rows.len() + 1, csv.len(), "{command}");
    assert_eq!(read.columns.iter().map(|c| &c.0).collect::<Vec<_>>(), csv[0].iter().collect::<Vec<_>>());
    for (line, row) in csv[1..].iter().zip(&read.rows) {
        for ((cell, field), (column, _)) in line.iter().zip(row).zip(&read.columns) {
            assert!(is_same(cell, field), "{command}, {column}: {cell:?} is not {field:?}");
        }
        assert_eq!(line.len(), row.len());
    }
    for path in [parquet, arrow] {
        fs::remove_file(path).unwrap();
    }
}

fn assert_declared(command: &str, read: &Read) {
    let tables = idlewise_data::tables();
    let declared = &tables.iter().find(|t| t.command == command).unwrap().columns;
    for (name, kind) in &read.columns {
        let name = as_declared(name);
        assert!(declared.iter().any(|c| c.0 == name && c.1.name() == *kind), "{command}: {name} {kind}");
    }
    assert!(declared.len() <= read.columns.len(), "{command}");
}

#[test]
fn decisions_are_the_same_rows_in_parquet_and_arrow() {
    let folder = tempfile::tempdir().unwrap();
    let mixed = root().join("tests/data/mixed.dat").display().to_string();
    let [parquet, arrow] = ["d.parquet", "d.feather"].map(|file| {
        done(&["replay", &mixed, "-g", "menu,teo", "--write-decisions", file], folder.path());
        folder.path().join(file)
    });
    let [parquet, arrow] = [read_parquet(&parquet), read_arrow(&arrow)];
    assert!(parquet.rows.len() > 10_000, "{} rows", parquet.rows.len());
    assert!(parquet.columns == arrow.columns && parquet.rows == arrow.rows);
    assert!(arrow.about.iter().any(|(name, _)| name == "idlewise.schema"));
}

#[test]
fn a_terminal_is_given_no_file_and_the_way_out() {
    let mixed = root().join("tests/data/mixed.dat");
    for (form, ending) in [("parquet", "parquet"), ("arrow", "arrow")] {
        let command = format!("{} info {} -f {form}", env!("CARGO_BIN_EXE_idlewise"), mixed.display());
        let o = Command::new("script").args(["-qec", &command, "/dev/null"]).output().unwrap();
        let said = String::from_utf8(o.stdout).unwrap();
        assert_eq!(o.status.code(), Some(2), "{said}");
        assert!(
            said.contains("a terminal cannot show it") && said.contains(&format!("result.{ending}")),
            "{said}"
        );
        // Whatever is no terminal gets the file.
        let piped = done(&["info", mixed.to_str().unwrap(), "-f", form, "-o", "-"], &root());
        assert!(piped.starts_with(if form == "arrow" { b"ARROW1" } else { b"PAR1" }), "{form}");
    }
    let refused = idlewise(&["info", mixed.to_str().unwrap(), "-f", "orc"], &root());
    assert!(String::from_utf8_lossy(&refused.stderr).contains("csv, json, parquet, arrow"));
}

fn page() -> String {
    let mut out = "<!-- SPDX-License-Identifier: GPL-2.0-only -->\n\
         <!-- Generated: IDLEWISE_UPDATE_DOCS=1 cargo test --workspace --locked --test cli data_tables:: -->\n\
         # Data tables\n\n\
         `--format csv`, `parquet` and `arrow` write the result of a command as one table of typed columns, the same in each.\n\
         The name of the file says the form, too: `--output result.parquet`, `.arrow`, `.feather` (Arrow's file format under its\n\
         older name), `.csv`. For a row of each decision see [decisions as data](../guide/decisions-as-data.md).\n\n\
         ```python\n\
         import pandas as pd\n\
         d = pd.read_parquet(\"result.parquet\")  # or pd.read_feather(\"result.arrow\")\n\
         ```\n\n\
         * What is not known, or is not there, is null; in CSV the cell is empty. No text is empty.\n\
         * The name of a column ends with its unit, or a column next to it has the unit. Times without one are ns.\n\
         * `int64` has a sign; `double` has 53 bits, CSV has all digits of whole numbers. A whole number beyond `int64` is refused.\n\
         * `N` stands for the number of each idle state; `stateN_` columns of states that a machine lacks are null.\n\
         * Parquet is compressed with zstd; Arrow is not compressed, so that it can be mapped into memory. Both have names as they are;\n\
         \x20 CSV escapes those that a spreadsheet would compute ([how](json.md)).\n\
         * Both say what they depend on, as metadata: `idlewise.version`, `idlewise.command`, `idlewise.inputs` (name and hash of\n\
         \x20 each, where the command knows them). The same command and inputs give the same bytes.\n\
         * `ab` has its runs one by one, `explain` its values as numbers, in [JSON](json.md).\n"
        .to_owned();
    for t in idlewise_data::tables() {
        let row = t.row;
        writeln!(out, "\n## {}\n\nA row is {row}.\n\n| column | type | what |\n|---|---|---|", t.command)
            .unwrap();
        for (name, kind, what) in t.columns {
            writeln!(out, "| `{name}` | {} | {what} |", kind.name()).unwrap();
        }
    }
    out
}

#[test]
fn the_page_lists_every_column() {
    let path = root().join("docs/reference/data-tables.md");
    if std::env::var_os("IDLEWISE_UPDATE_DOCS").is_some() {
        fs::write(&path, page()).unwrap();
    }
    let shown = fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(
        shown,
        page(),
        "docs/reference/data-tables.md is out of date: IDLEWISE_UPDATE_DOCS=1 writes it"
    );
}
