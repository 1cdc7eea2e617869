//! Sweeps: the table depends on nothing but the grid, and nothing that was finished is lost.

use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Map, json};
use treeamp_lab::sweep::{
    Axis, Cell, Grid, Journal, Record, Row, Shard, SweepError, Table, Value, merge, run,
    stream_seed,
};

type Outcome = Result<(), Box<dyn std::error::Error>>;

/// A folder of its own, removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("treeamp-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).expect("a temporary folder");
        Self(path)
    }

    fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn grid() -> Result<Grid, SweepError> {
    let axes = vec![Axis::parse("alpha=0.1:1.0:4")?, Axis::parse("rho=0.1,0.2")?];
    Grid::new(axes, vec![0, 1, 7])
}

fn configuration(model: &str) -> Map<String, serde_json::Value> {
    let value = json!({ "model": model, "max_sweeps": 200 });
    value.as_object().cloned().unwrap_or_default()
}

/// Depends on the stream, has an infinity and a text, and fails on one point.
fn work(cell: &Cell) -> Result<Vec<Row>, String> {
    let alpha = cell.number("alpha").ok_or("no alpha")?;
    if alpha > 0.99 && cell.seed == 1 {
        return Err("did not converge, \"twice\"".to_owned());
    }
    let draw = (cell.stream_seed() >> 11) as f64;
    let row = Row::new().with("draw", draw / alpha).with("name", "a, b");
    Ok(vec![row.clone(), row.with("draw", f64::INFINITY)])
}

fn table(records: &[Record]) -> Result<String, SweepError> {
    Ok(Table::of(&grid()?, records).to_csv())
}

#[test]
fn table_is_the_same_for_any_number_of_threads_and_shards() -> Outcome {
    let grid = grid()?;
    assert_eq!(grid.cells().len(), 24);
    let reference = table(&run(grid.cells(), 1, None, work, |_| {})?)?;
    // 24 cells, of which two at (alpha, seed) = (1, 1) fail; the others have two lines
    assert_eq!(reference.lines().count(), 1 + 2 * 22 + 2);
    assert!(reference.contains("inf,\"a, b\",ok,\n"));
    assert!(reference.contains("failed,\"did not converge, \"\"twice\"\"\"\n"));
    for threads in [2, 5, 100] {
        assert_eq!(
            reference,
            table(&run(grid.cells(), threads, None, work, |_| {})?)?
        );
    }
    let folder = Folder::new("shards");
    let mut parts = Vec::new();
    for k in 1..=3 {
        let path = folder.file(&format!("{k}.journal"));
        let mut journal = Journal::open(&path, &configuration("a"))?;
        let mine = Shard::parse(&format!("{k}/3"))?.of(grid.cells(), |_| String::new());
        assert_eq!(mine.len(), 8);
        run(&mine, 2, Some(&mut journal), work, |_| {})?;
        parts.push(path);
    }
    let merged = merge(&parts)?;
    assert_eq!(merged.configuration, configuration("a"));
    assert_eq!(reference, table(&merged.records)?);
    Ok(())
}

#[test]
fn an_interrupted_sweep_goes_on_where_it_was() -> Outcome {
    let grid = grid()?;
    let folder = Folder::new("resume");
    let path = folder.file("journal");
    let whole = {
        let mut journal = Journal::open(&path, &configuration("a"))?;
        table(&run(grid.cells(), 2, Some(&mut journal), work, |_| {})?)?
    };
    let bytes = fs::read(&path)?;
    // cut at every place: at the end of a line, in the middle of one, in the first line
    for cut in (0..bytes.len()).step_by(97).chain([1, bytes.len() - 1]) {
        fs::write(&path, &bytes[..cut])?;
        let mut journal = Journal::open(&path, &configuration("a"))?;
        let kept = journal.records().count();
        let lines = bytes[..cut].split(|b| *b == b'\n').count() - 1;
        assert_eq!(kept, lines.saturating_sub(1), "cut at {cut}");
        let calls = AtomicUsize::new(0);
        let counted = |cell: &Cell| {
            calls.fetch_add(1, Ordering::Relaxed);
            work(cell)
        };
        let records = run(grid.cells(), 2, Some(&mut journal), counted, |_| {})?;
        assert_eq!(calls.into_inner(), 24 - kept);
        assert_eq!(whole, table(&records)?);
        drop(journal);
        // and the file is whole again
        let again = Journal::open(&path, &configuration("a"))?;
        assert_eq!(again.records().count(), 24);
    }
    Ok(())
}

#[test]
fn wrong_journals_are_refused_and_left_alone() -> Outcome {
    let folder = Folder::new("refused");
    let path = folder.file("journal");
    let held = Journal::open(&path, &configuration("a"))?;
    let busy = Journal::open(&path, &configuration("a"));
    assert!(matches!(busy, Err(SweepError::Busy { .. })));
    drop(held);
    let other = Journal::open(&path, &configuration("b"));
    let Err(SweepError::OtherConfiguration { difference, .. }) = other else {
        return Err("another configuration was accepted".into());
    };
    assert_eq!(difference, "`model` is \"b\" now and \"a\" there");

    for text in ["precious data", "precious\ndata\n", "{}\n", "{\"a\":1"] {
        fs::write(&path, text)?;
        let opened = Journal::open(&path, &configuration("a"));
        assert!(
            matches!(opened, Err(SweepError::Damaged { line: 1, .. })),
            "{text}"
        );
        assert_eq!(fs::read_to_string(&path)?, text);
    }

    fs::remove_file(&path)?;
    let grid = grid()?;
    let mut journal = Journal::open(&path, &configuration("a"))?;
    run(grid.cells(), 1, Some(&mut journal), work, |_| {})?;
    drop(journal);
    let text = fs::read_to_string(&path)?;
    let mut lines: Vec<&str> = text.lines().collect();
    lines[5] = "{\"cell\": 3";
    let broken = lines.join("\n") + "\n";
    fs::write(&path, &broken)?;
    let opened = Journal::open(&path, &configuration("a"));
    assert!(matches!(opened, Err(SweepError::Damaged { line: 6, .. })));
    assert_eq!(fs::read_to_string(&path)?, broken);
    Ok(())
}

/// Any digit of a line that was changed afterwards is noticed, in the first line and in the last.
#[test]
fn a_changed_digit_is_refused() -> Outcome {
    let folder = Folder::new("digit");
    let path = folder.file("journal");
    let grid = grid()?;
    let mut journal = Journal::open(&path, &configuration("a"))?;
    run(grid.cells(), 1, Some(&mut journal), work, |_| {})?;
    drop(journal);
    let text = fs::read_to_string(&path)?;
    let lines: Vec<&str> = text.lines().collect();
    for (i, line) in lines.iter().enumerate() {
        for (at, digit) in line.bytes().enumerate().filter(|(_, b)| b.is_ascii_digit()) {
            let mut changed = line.as_bytes().to_vec();
            changed[at] = if digit == b'7' { b'3' } else { b'7' };
            let changed = String::from_utf8(changed)?;
            let mut all = lines.clone();
            all[i] = &changed;
            fs::write(&path, all.join("\n") + "\n")?;
            let Err(SweepError::Damaged { line, .. }) = Journal::open(&path, &configuration("a"))
            else {
                return Err(format!("line {}: {changed} was accepted", i + 1).into());
            };
            assert_eq!(line, i + 1);
        }
    }
    Ok(())
}

/// Starting afresh forgets a journal, whatever is in it, and nothing else.
#[test]
fn a_journal_is_started_afresh() -> Outcome {
    let folder = Folder::new("afresh");
    let path = folder.file("journal");
    let grid = grid()?;
    let mut journal = Journal::open(&path, &configuration("a"))?;
    run(grid.cells(), 1, Some(&mut journal), work, |_| {})?;
    let seeds = json!({ "seeds": [1] });
    journal.set_plan(seeds.as_object().ok_or("an object")?)?;
    drop(journal);
    assert_eq!(
        json!(Journal::open(&path, &configuration("a"))?.plan()),
        seeds
    );
    let again = Journal::start(&path, &configuration("b"))?;
    assert!(again.records().count() == 0 && again.plan().is_empty());
    drop(again);
    assert_eq!(
        Journal::open(&path, &configuration("b"))?.records().count(),
        0
    );
    // one of another format is a journal too
    fs::write(&path, "{\"configuration\":{},\"treeamp-journal\":1}\n")?;
    assert!(matches!(
        Journal::open(&path, &configuration("b")),
        Err(SweepError::Damaged { line: 1, .. })
    ));
    Journal::start(&path, &configuration("b"))?;
    fs::write(&path, "precious\n")?;
    assert!(matches!(
        Journal::start(&path, &configuration("b")),
        Err(SweepError::Damaged { line: 1, .. })
    ));
    assert_eq!(fs::read_to_string(&path)?, "precious\n");
    Ok(())
}

/// Each part has its share of every kind and of every value, also where the number of parts divides that of the values.
#[test]
fn parts_have_a_share_of_everything() -> Outcome {
    let axes = vec![
        Axis::new("alpha", (0..32).map(f64::from)),
        Axis::new("n", [100.0, 1000.0]),
        Axis::new("source", ["EP", "SE"]),
    ];
    let grid = Grid::new(axes, vec![0])?;
    let kind = |c: &Cell| c.get("source").map_or(String::new(), Value::to_csv);
    let mut seen = 0;
    for k in 1..=2 {
        let part = Shard::parse(&format!("{k}/2"))?.of(grid.cells(), kind);
        seen += part.len();
        let runs = part.iter().filter(|c| kind(c) == "EP");
        assert_eq!(runs.clone().count(), 32);
        let large = runs.filter(|c| c.number("n") == Some(1000.0)).count();
        assert!((8..=24).contains(&large), "{large}");
        assert!(part.is_sorted_by_key(|c| c.index));
    }
    assert_eq!(seen, 128);
    Ok(())
}

#[test]
fn parts_that_disagree_are_not_merged() -> Outcome {
    let folder = Folder::new("disagree");
    let grid = grid()?;
    let part = |name: &str, shift: f64, model: &str| -> Result<PathBuf, SweepError> {
        let path = folder.file(name);
        let mut journal = Journal::open(&path, &configuration(model))?;
        let work = |cell: &Cell| {
            let alpha = cell.number("alpha").unwrap_or(0.0);
            Ok(vec![
                Row::new().with("x", alpha + shift).with("y", f64::NAN),
            ])
        };
        run(grid.cells(), 1, Some(&mut journal), work, |_| {})?;
        Ok(path)
    };
    let (one, same) = (part("1", 0.0, "a")?, part("2", 0.0, "a")?);
    let (other, foreign) = (part("3", 1.0, "a")?, part("4", 0.0, "b")?);
    assert_eq!(merge(&[one.clone(), same])?.records.len(), 24);
    assert!(matches!(
        merge(&[one.clone(), other]),
        Err(SweepError::Merge { .. })
    ));
    assert!(matches!(
        merge(&[one, foreign]),
        Err(SweepError::OtherConfiguration { .. })
    ));
    assert!(matches!(merge(&[]), Err(SweepError::Merge { .. })));
    Ok(())
}

#[test]
fn a_panic_is_a_failed_cell() -> Outcome {
    let grid = Grid::new(vec![Axis::new("n", [1.0, 2.0])], vec![0])?;
    let work = |cell: &Cell| {
        assert!(cell.number("n") != Some(2.0), "two is too many");
        Ok(vec![Row::new()])
    };
    let records = run(grid.cells(), 2, None, work, |_| {})?;
    assert!(records[0].rows.is_ok());
    let reason = records[1].rows.clone().expect_err("it panics");
    assert_eq!(reason, "internal error: two is too many");
    Ok(())
}

#[test]
fn streams_depend_on_the_cell_alone() -> Outcome {
    let one = Grid::new(
        vec![Axis::new("a", [1.0, 2.0]), Axis::new("b", [3.0])],
        vec![5],
    )?;
    // the order of the axes, further values and integers for numbers change nothing
    let two = Grid::new(
        vec![
            Axis::new("b", [9.0, 3.0]),
            Axis::new("a", [Value::Integer(2), Value::Integer(1)]),
        ],
        vec![4, 5],
    )?;
    for cell in one.cells() {
        let twin = two.cells().iter().find(|c| c.key == cell.key);
        let twin = twin.ok_or("the same cell has another key")?;
        assert_eq!(cell.stream_seed(), twin.stream_seed());
    }
    let mut all: Vec<u64> = two.cells().iter().map(Cell::stream_seed).collect();
    all.sort_unstable();
    all.dedup();
    assert_eq!(all.len(), 8);
    // a promise to everyone who stored results: this number never changes
    let cell = [("alpha".to_owned(), Value::Number(0.5))];
    assert_eq!(stream_seed(0, &cell), 4_087_664_463_304_823_743);
    Ok(())
}

#[test]
fn bad_grids_say_what_is_wrong() {
    for (text, complaint) in [
        ("alpha", "expected name=start:stop:count"),
        ("=1,2", "expected name=start:stop:count"),
        ("alpha=0:1", "expected name=start:stop:count"),
        ("alpha=0:1:0", "expected a count from 1"),
        ("alpha=0:1:1e99", "expected a count from 1"),
        ("alpha=0:x:3", "expected a finite number, got `x`"),
        ("alpha=1,,2", "expected a finite number, got ``"),
        ("alpha=nan", "expected a finite number, got `nan`"),
    ] {
        let error = Axis::parse(text).expect_err(text).to_string();
        assert!(error.contains(complaint), "{text}: {error}");
    }
    let axis = || Axis::new("a", [1.0, 2.0]);
    for (axes, seeds, complaint) in [
        (vec![axis(), axis()], vec![0], "every parameter once"),
        (
            vec![Axis::new("a", [1.0, 1.0])],
            vec![0],
            "different values, got 1.0 twice",
        ),
        (
            vec![Axis::new("a", Vec::<f64>::new())],
            vec![0],
            "at least one value",
        ),
        (
            vec![Axis::new("seed", [1.0])],
            vec![0],
            "every parameter once",
        ),
        (vec![axis()], vec![], "at least one seed"),
        (vec![axis()], vec![3, 3], "different seeds, got 3 twice"),
    ] {
        let error = Grid::new(axes, seeds).expect_err(complaint).to_string();
        assert!(error.contains(complaint), "{error}");
    }
    let huge = (0..5).map(|k| Axis::new(&k.to_string(), (0..100).map(f64::from)));
    assert!(Grid::new(huge.collect(), vec![0]).is_err());
    for text in ["0/2", "3/2", "1", "a/b", "1/0"] {
        assert!(Shard::parse(text).is_err(), "{text}");
    }
}

/// A device has no end: it is refused before it is read.
#[test]
#[cfg(unix)]
fn a_device_is_no_journal() {
    let opened = Journal::open("/dev/zero", &configuration("a")).err();
    let merged = merge(&["/dev/zero".into()]).err();
    for refused in [opened, merged] {
        let said = refused.map(|e| e.to_string()).unwrap_or_default();
        assert!(
            said.contains("/dev/zero") && said.contains("not a regular file"),
            "{said}"
        );
    }
}

/// Values of a range are those that somebody types: the same number, and so the same cell and stream.
#[test]
fn values_of_a_range_are_the_typed_ones() -> Outcome {
    for (range, list) in [
        ("alpha=0.2:0.8:4", "alpha=0.2,0.4,0.6,0.8"),
        (
            "alpha=0.1:1.0:10",
            "alpha=0.1,0.2,0.3,0.4,0.5,0.6,0.7,0.8,0.9,1",
        ),
        ("alpha=-0.3:0.3:7", "alpha=-0.3,-0.2,-0.1,0,0.1,0.2,0.3"),
        ("alpha=1e-9:4e-9:4", "alpha=1e-9,2e-9,3e-9,4e-9"),
        ("alpha=100:100000:4", "alpha=100,33400,66700,100000"),
        ("alpha=0:1:4", "alpha=0,0.333333333333,0.666666666667,1"),
        ("alpha=1e300:3e300:3", "alpha=1e300,2e300,3e300"),
        ("alpha=0:0:1", "alpha=0"),
    ] {
        let keys = |axis: &str| -> Result<Vec<String>, SweepError> {
            let grid = Grid::new(vec![Axis::parse(axis)?], vec![3])?;
            Ok(grid.cells().iter().map(|c| c.key.clone()).collect())
        };
        assert_eq!(keys(range)?, keys(list)?);
    }
    Ok(())
}
