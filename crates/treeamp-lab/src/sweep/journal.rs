//! The journal of a sweep: an append-only file with one line of JSON per finished cell.
//!
//! The first line holds the configuration; a journal of another one is refused. A torn last line, as an
//! interrupted process leaves it, is cut off. Times and dates stand here and never in the table.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Map, json};

use super::value::first_difference;
use super::{Row, SweepError};

/// The version of the format.
const FORMAT: u64 = 1;
/// The key of the first line that makes a file a journal.
const MAGIC: &str = "treeamp-journal";

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
        line.to_string() + "\n"
    }

    fn from_line(line: &str) -> Option<Self> {
        let value: serde_json::Value = serde_json::from_str(line).ok()?;
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
    records: BTreeMap<String, Record>,
}

impl Journal {
    /// Opens a journal, or starts one. `configuration` is everything the results depend on besides the
    /// cells' own parameters and seeds.
    ///
    /// # Errors
    /// A file that cannot be opened, that another process writes, that is no journal, that belongs to
    /// another configuration, or that is damaged before its last line.
    pub fn open(
        path: impl AsRef<Path>,
        configuration: &Map<String, serde_json::Value>,
    ) -> Result<Self, SweepError> {
        let path = path.as_ref().to_owned();
        let mut options = OpenOptions::new();
        let opened = options.read(true).write(true).create(true).truncate(false);
        let file = opened.open(&path).map_err(|e| SweepError::file(&path, e))?;
        regular(&file).map_err(|e| SweepError::file(&path, e))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(SweepError::Busy { path }),
            Err(TryLockError::Error(e)) => return Err(SweepError::file(&path, e)),
        }
        let mut journal = Self {
            path,
            file,
            len: 0,
            records: BTreeMap::new(),
        };
        journal.load(configuration)?;
        Ok(journal)
    }

    fn load(&mut self, configuration: &Map<String, serde_json::Value>) -> Result<(), SweepError> {
        let mut bytes = Vec::new();
        let read = self.file.read_to_end(&mut bytes);
        read.map_err(|e| SweepError::file(&self.path, e))?;
        let content = parse(&self.path, &bytes)?;
        self.len = content.whole as u64;
        self.records = content.records;
        match content.configuration {
            None => {
                let header = json!({ MAGIC: FORMAT, "configuration": configuration });
                self.write_line(&(header.to_string() + "\n"))
            }
            Some(there) => match first_difference(configuration, &there) {
                Some(difference) => Err(SweepError::OtherConfiguration {
                    path: self.path.clone(),
                    difference,
                }),
                None => self.truncate(),
            },
        }
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
                // the first error is the one to tell; a torn line is repaired when opened again
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

/// What a journal holds.
struct Content {
    configuration: Option<Map<String, serde_json::Value>>,
    records: BTreeMap<String, Record>,
    /// Bytes up to the last whole line.
    whole: usize,
}

fn parse(path: &Path, bytes: &[u8]) -> Result<Content, SweepError> {
    let mut content = Content {
        configuration: None,
        records: BTreeMap::new(),
        whole: 0,
    };
    let damaged = |line: usize, reason: &str| SweepError::Damaged {
        path: path.to_owned(),
        line,
        reason: reason.to_owned(),
    };
    for (i, line) in bytes.split_inclusive(|b| *b == b'\n').enumerate() {
        let last = content.whole + line.len() == bytes.len();
        let torn = !line.ends_with(b"\n");
        let text = std::str::from_utf8(line).ok();
        if i == 0 {
            let header = text.and_then(read_header);
            match header {
                Some(configuration) if !torn => content.configuration = Some(configuration),
                // a first line cut short by an interrupt, but never another kind of file
                _ if torn && is_prefix_of_header(line) => break,
                _ => {
                    return Err(damaged(
                        1,
                        "expected the first line of a journal, got something else",
                    ));
                }
            }
        } else {
            match text.filter(|_| !torn).and_then(Record::from_line) {
                Some(record) => content.records.insert(record.key.clone(), record),
                None if last => break,
                None => {
                    return Err(damaged(
                        i + 1,
                        "expected a finished cell, got something else",
                    ));
                }
            };
        }
        content.whole += line.len();
    }
    Ok(content)
}

fn read_header(line: &str) -> Option<Map<String, serde_json::Value>> {
    let value: serde_json::Value = serde_json::from_str(line).ok()?;
    (value.get(MAGIC)?.as_u64()? == FORMAT).then_some(())?;
    value.get("configuration")?.as_object().cloned()
}

/// The keys of the first line are sorted, so that `configuration` comes first.
fn is_prefix_of_header(line: &[u8]) -> bool {
    let start = b"{\"configuration\":";
    let shared = line.len().min(start.len());
    line[..shared] == start[..shared]
}

/// Joins the journals of parts of one sweep, and returns their configuration with all records.
///
/// # Errors
/// No part, a file that cannot be read, parts of different configurations, a cell that two parts disagree about.
pub fn merge(
    parts: &[PathBuf],
) -> Result<(Map<String, serde_json::Value>, Vec<Record>), SweepError> {
    let mut configuration: Option<Map<String, serde_json::Value>> = None;
    let mut records: BTreeMap<String, Record> = BTreeMap::new();
    for path in parts {
        let bytes = read(path).map_err(|e| SweepError::file(path, e))?;
        let content = parse(path, &bytes)?;
        let there = content.configuration.ok_or_else(|| SweepError::Damaged {
            path: path.clone(),
            line: 1,
            reason: "expected the first line of a journal, got nothing".to_owned(),
        })?;
        let first = configuration.get_or_insert_with(|| there.clone());
        if let Some(difference) = first_difference(first, &there) {
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
    let configuration = configuration.ok_or_else(|| SweepError::Merge {
        reason: "expected at least one journal, got none".to_owned(),
    })?;
    Ok((configuration, records.into_values().collect()))
}
