//! Experiments over a grid: every cell has its own random stream, finished cells go to a journal at
//! once, and the table does not depend on the number of threads, processes or interruptions.
//!
//! ```
//! use treeamp_lab::sweep::{Axis, Grid, Row, Table, run};
//! let grid = Grid::new(vec![Axis::parse("alpha=0.5:1.0:3")?], vec![0, 1])?;
//! let work = |cell: &treeamp_lab::sweep::Cell| {
//!     let alpha = cell.number("alpha").ok_or("no alpha")?;
//!     Ok(vec![Row::new().with("twice", 2.0 * alpha)])
//! };
//! let records = run(grid.cells(), 2, None, work, |_| {})?;
//! let table = Table::of(&grid, &records);
//! assert_eq!(table.to_csv().lines().nth(1), Some("0.5,0,1,ok,"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod error;
mod grid;
mod journal;
mod run;
mod shard;
mod table;
mod value;

pub use error::SweepError;
pub use grid::{Axis, Cell, Grid, cell_key, stream_seed};
pub use journal::{Journal, Merged, Record, merge};
pub use run::{Progress, available_threads, run};
pub use shard::Shard;
pub use table::Table;
pub use value::{Row, Value};
