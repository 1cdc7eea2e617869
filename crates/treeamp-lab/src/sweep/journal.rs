//! The journal of a sweep: an append-only file with one line of JSON per finished cell.
//!
//! The first line holds the configuration; a journal of another one is refused. Every line has a checksum: one that
//! was changed after it was written is refused. A torn last line, as an interrupted process leaves it, is cut off.
//! Times and dates stand here and never in the table.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Map, json};

use super::value::first_difference;
use super::{Row, SweepError};
use crate::hash::fnv1a;

/// A JSON object.
type Object = Map<String, serde_json::Value>;

/// The version of the format.
const FORMAT: u64 = 2;
/// The key of the first line that makes a file a journal.
const MAGIC: &str = "treeamp-journal";
/// The key of a line that says which cells are wanted.
const PLAN: &str = "plan";

/// A finished cell.
#[derive(Debug, Clone, PartialEq)]
pub struct Record {
    /// The cell: [`cell_key`](super::cell_key).
    pub key: String,
    /// Its results, or why it failed.
    pub rows: Result<Vec<Row>, String>,
    /// How long it took.
    pub seconds: f64,
}

impl Record {
    /// Its results as JSON, where NaN equals NaN.
    fn results(&self) -> serde_json::Value {
        match &self.rows {
            Ok(rows) => rows.iter().map(Row::to_json).collect(),
            Err(reason) => json!({ "failed": reason }),
        }
    }

    fn to_line(&self) -> String {
        let date = SystemTime::now().duration_since(UNIX_EPOCH);
        let mut line = json!({
            "cell": self.key,
            "seconds": self.seconds,
            "finished": date.map_or(0.0, |d| d.as_secs_f64()),
        });
        match &self.rows {
            Ok(rows) => line["rows"] = rows.iter().map(Row::to_json).collect(),
            Err(reason) => line["failed"] = json!(reason),
        }
        sealed(&line)
    }

    fn from_json(value: &serde_json::Value) -> Option<Self> {
        let rows = if let Some(reason) = value.get("failed") {
            Err(reason.as_str()?.to_owned())
        } else {
            let rows = value.get("rows")?.as_array()?.iter().map(Row::from_json);
            Ok(rows.collect::<Option<_>>()?)
        };
        Some(Self {
            key: value.get("cell")?.as_str()?.to_owned(),
            rows,
            seconds: value.get("seconds")?.as_f64()?,
        })
    }
}

/// An open journal. Only one process can have it open for writing.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    file: File,
    /// Length of what is known to be whole.
    len: u64,
    plan: Object,
    records: BTreeMap<String, Record>,
}

impl Journal {
    /// Opens a journal to go on with it, or starts one. `configuration` is everything the results depend on besides
    /// the cells' own parameters and seeds.
    ///
    /// # Errors
    /// A file that cannot be opened, that another process writes, that is no journal, that belongs to
    /// another configuration, or that was damaged.
    pub fn open(path: impl AsRef<Path>, configuration: &Object) -> Result<Self, SweepError> {
        let mut journal = Self::lock(path.as_ref())?;
        let bytes = journal.read()?;
        let content = parse(&journal.path, &bytes)?;
        journal.len = content.whole as u64;
        journal.plan = content.plan;
        journal.records = content.records;
        match content.configuration {
            None => journal.write_header(configuration)?,
            Some(there) => match first_difference(configuration, &there) {
                Some(difference) => {
                    return Err(SweepError::OtherConfiguration {
                        path: journal.path.clone(),
                        difference,
                    });
                }
                None => journal.truncate()?,
            },
        }
        Ok(journal)
    }

    /// Starts a journal, and forgets what was in it.
    ///
    /// # Errors
    /// A file that cannot be opened, that another process writes, or that is no journal: such a file is left alone.
    pub fn start(path: impl AsRef<Path>, configuration: &Object) -> Result<Self, SweepError> {
        let mut journal = Self::lock(path.as_ref())?;
        let bytes = journal.read()?;
        if !bytes.is_empty() && !is_journal(&bytes) {
            return Err(not_a_journal(&journal.path));
        }
        journal.write_header(configuration)?;
        Ok(journal)
    }

    /// The file, for this process alone.
    fn lock(path: &Path) -> Result<Self, SweepError> {
        let path = path.to_owned();
        let mut options = OpenOptions::new();
        let opened = options.read(true).write(true).create(true).truncate(false);
        let file = opened.open(&path).map_err(|e| SweepError::file(&path, e))?;
        regular(&file).map_err(|e| SweepError::file(&path, e))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(SweepError::Busy { path }),
            Err(TryLockError::Error(e)) => return Err(SweepError::file(&path, e)),
        }
        Ok(Self {
            path,
            file,
            len: 0,
            plan: Map::new(),
            records: BTreeMap::new(),
        })
    }

    fn read(&mut self) -> Result<Vec<u8>, SweepError> {
        let mut bytes = Vec::new();
        let read = self.file.read_to_end(&mut bytes);
        read.map_err(|e| SweepError::file(&self.path, e))?;
        Ok(bytes)
    }

    fn write_header(&mut self, configuration: &Object) -> Result<(), SweepError> {
        let header = json!({ MAGIC: FORMAT, "configuration": configuration });
        self.write_line(&sealed(&header))
    }

    /// Which cells are wanted, as whoever wrote the journal last put it; empty where nobody did.
    #[must_use]
    pub fn plan(&self) -> &Object {
        &self.plan
    }

    /// Says which cells are wanted, for [`merge`].
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn set_plan(&mut self, plan: &Object) -> Result<(), SweepError> {
        if self.plan != *plan {
            self.write_line(&sealed(&json!({ PLAN: plan })))?;
            self.plan.clone_from(plan);
        }
        Ok(())
    }

    /// The record of a finished cell.
    #[must_use]
    pub fn finished(&self, key: &str) -> Option<&Record> {
        self.records.get(key)
    }

    /// All finished cells, by key.
    pub fn records(&self) -> impl Iterator<Item = &Record> {
        self.records.values()
    }

    /// Adds a finished cell; when this returns, the line is with the operating system.
    ///
    /// # Errors
    /// When it cannot be written. The journal is then cut back to its last whole line.
    pub fn append(&mut self, record: &Record) -> Result<(), SweepError> {
        self.write_line(&record.to_line())?;
        self.records.insert(record.key.clone(), record.clone());
        Ok(())
    }

    fn write_line(&mut self, line: &str) -> Result<(), SweepError> {
        let written = self
            .file
            .seek(SeekFrom::Start(self.len))
            .and_then(|_| self.file.write_all(line.as_bytes()));
        match written {
            Ok(()) => {
                self.len += line.len() as u64;
                self.truncate()
            }
            Err(error) => {
                // the first error is reported; a torn line is repaired when opened again
                let _ = self.truncate();
                Err(SweepError::file(&self.path, error))
            }
        }
    }

    /// Cuts off what is not a whole line.
    fn truncate(&mut self) -> Result<(), SweepError> {
        let len = self.file.metadata().map(|m| m.len());
        let cut = len.and_then(|len| {
            if len > self.len {
                self.file.set_len(self.len)
            } else {
                Ok(())
            }
        });
        cut.map_err(|e| SweepError::file(&self.path, e))
    }
}

/// Refuses what is not a regular file: a device may never end.
fn regular(file: &File) -> io::Result<()> {
    if file.metadata()?.is_file() {
        Ok(())
    } else {
        Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "not a regular file",
        ))
    }
}

fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut file = File::open(path)?;
    regular(&file)?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// A line of the journal, with the checksum of its text as the last key.
fn sealed(line: &serde_json::Value) -> String {
    let text = line.to_string();
    let sum = checksum(&text);
    let open = text.strip_suffix('}').unwrap_or(&text);
    format!("{open},\"sum\":\"{sum}\"}}\n")
}

fn checksum(text: &str) -> String {
    format!("{:016x}", fnv1a(text.as_bytes()))
}

/// The content of a line whose checksum is right; an error where it is not, `None` where the line is no JSON.
fn unsealed(line: &str) -> Option<Result<serde_json::Value, String>> {
    let value = serde_json::from_str(line).ok()?;
    let parts = line.trim_end().rsplit_once(",\"sum\":");
    let right =
        |(text, sum): (&str, &str)| sum == format!("\"{}\"}}", checksum(&format!("{text}}}")));
    if parts.is_some_and(right) {
        return Some(Ok(value));
    }
    let reason = "its checksum does not match: the line was changed after it was written";
    Some(Err(reason.to_owned()))
}

/// What a journal holds.
struct Content {
    configuration: Option<Object>,
    plan: Object,
    records: BTreeMap<String, Record>,
    /// Bytes up to the last whole line.
    whole: usize,
}

impl Content {
    /// Takes in a line behind the first.
    fn add(&mut self, mut value: serde_json::Value) -> Option<()> {
        if let Some(plan) = value.get_mut(PLAN) {
            self.plan = plan.as_object().cloned()?;
        } else {
            let record = Record::from_json(&value)?;
            self.records.insert(record.key.clone(), record);
        }
        Some(())
    }
}

fn parse(path: &Path, bytes: &[u8]) -> Result<Content, SweepError> {
    let mut content = Content {
        configuration: None,
        plan: Map::new(),
        records: BTreeMap::new(),
        whole: 0,
    };
    let damaged = |line: usize, reason: String| SweepError::Damaged {
        path: path.to_owned(),
        line,
        reason,
    };
    for (i, line) in bytes.split_inclusive(|b| *b == b'\n').enumerate() {
        // cut short by an interrupt, but never another kind of file
        if !line.ends_with(b"\n") && (i > 0 || is_prefix_of_header(line)) {
            break;
        }
        let last = content.whole + line.len() == bytes.len();
        let read = std::str::from_utf8(line).ok().and_then(unsealed);
        if i == 0 {
            if !is_journal(line) {
                return Err(not_a_journal(path));
            }
            let value = read.unwrap_or_else(|| Err("expected a line of JSON".to_owned()));
            let value = value.map_err(|reason| damaged(1, reason))?;
            content.configuration = Some(configuration_of(&value).map_err(|e| damaged(1, e))?);
        } else {
            let added = match read {
                Some(value) => content.add(value.map_err(|reason| damaged(i + 1, reason))?),
                None if last => break,
                None => None,
            };
            let reason = "expected a finished cell, got something else";
            added.ok_or_else(|| damaged(i + 1, reason.to_owned()))?;
        }
        content.whole += line.len();
    }
    Ok(content)
}

fn not_a_journal(path: &Path) -> SweepError {
    SweepError::Damaged {
        path: path.to_owned(),
        line: 1,
        reason: "expected the first line of a journal, got something else".to_owned(),
    }
}

/// The configuration in a first line.
fn configuration_of(value: &serde_json::Value) -> Result<Object, String> {
    let format = value.get(MAGIC).and_then(serde_json::Value::as_u64);
    if format != Some(FORMAT) {
        let got = format.map_or("another".to_owned(), |n| n.to_string());
        return Err(format!("expected a journal of format {FORMAT}, got {got}"));
    }
    let configuration = value.get("configuration").and_then(|c| c.as_object());
    let missing = || "expected a configuration, got none".to_owned();
    configuration.cloned().ok_or_else(missing)
}

/// The first line is that of a journal, whatever its format, or the beginning of one.
fn is_journal(bytes: &[u8]) -> bool {
    let line = bytes.split(|b| *b == b'\n').next().unwrap_or_default();
    if line.len() == bytes.len() && is_prefix_of_header(line) {
        return true;
    }
    let value: Option<serde_json::Value> = serde_json::from_slice(line).ok();
    value.is_some_and(|v| v.get(MAGIC).is_some())
}

/// The keys of the first line are sorted, so that `configuration` comes first.
fn is_prefix_of_header(line: &[u8]) -> bool {
    let start = b"{\"configuration\":";
    let shared = line.len().min(start.len());
    line[..shared] == start[..shared]
}

/// The journals of a sweep's parts in one.
#[derive(Debug, Clone)]
pub struct Merged {
    /// What the results depend on besides the cells.
    pub configuration: Object,
    /// Which cells are wanted: [`Journal::set_plan`].
    pub plan: Object,
    /// All finished cells, by key.
    pub records: Vec<Record>,
}

/// Joins the journals of parts of one sweep.
///
/// # Errors
/// No part, a file that cannot be read, parts of different configurations or plans, a cell that two parts disagree about.
pub fn merge(parts: &[PathBuf]) -> Result<Merged, SweepError> {
    let mut first: Option<(Object, Object)> = None;
    let mut records: BTreeMap<String, Record> = BTreeMap::new();
    for path in parts {
        let bytes = read(path).map_err(|e| SweepError::file(path, e))?;
        let content = parse(path, &bytes)?;
        let there = content.configuration.ok_or_else(|| SweepError::Damaged {
            path: path.clone(),
            line: 1,
            reason: "expected the first line of a journal, got nothing".to_owned(),
        })?;
        let (configuration, plan) =
            first.get_or_insert_with(|| (there.clone(), content.plan.clone()));
        let difference = first_difference(configuration, &there);
        if let Some(difference) = difference.or_else(|| first_difference(plan, &content.plan)) {
            return Err(SweepError::OtherConfiguration {
                path: path.clone(),
                difference,
            });
        }
        for (key, record) in content.records {
            match records.get(&key) {
                Some(other) if other.results() != record.results() => {
                    return Err(SweepError::Merge {
                        reason: format!(
                            "cell {key} of {} differs from an earlier part",
                            path.display()
                        ),
                    });
                }
                Some(_) => {}
                None => {
                    records.insert(key, record);
                }
            }
        }
    }
    let (configuration, plan) = first.ok_or_else(|| SweepError::Merge {
        reason: "expected at least one journal, got none".to_owned(),
    })?;
    Ok(Merged {
        configuration,
        plan,
        records: records.into_values().collect(),
    })
}
