//! The threads of one run: products with large matrices and their Gram matrices use all cores, or as many as [`with_threads`] says.
//!
//! What is computed does not depend on their number: work is cut by its shape, and every piece is summed on one thread.

use std::cell::RefCell;
use std::sync::Arc;

use rayon::{ThreadPool, ThreadPoolBuilder};

/// Where pieces of work go.
#[derive(Clone)]
enum Pool {
    /// To all cores.
    Shared,
    /// They stay on this thread.
    Alone,
    Own(Arc<ThreadPool>),
}

thread_local! {
    static POOL: RefCell<Pool> = const { RefCell::new(Pool::Shared) };
}

/// Gives the thread its former pool back, also after a panic.
struct Restore(Pool);

impl Drop for Restore {
    fn drop(&mut self) {
        POOL.replace(self.0.clone());
    }
}

/// Does `work` on this thread, with at most so many threads for its products; zero counts as one. Where the system has no more threads
/// to give it is done on this one alone.
///
/// ```
/// use treeamp::with_threads;
/// assert_eq!(with_threads(1, || 2 + 2), 4);
/// ```
pub fn with_threads<R>(threads: usize, work: impl FnOnce() -> R) -> R {
    let build = || ThreadPoolBuilder::new().num_threads(threads).build();
    let pool = match threads {
        0 | 1 => Pool::Alone,
        _ => build().map_or(Pool::Alone, |pool| Pool::Own(Arc::new(pool))),
    };
    let _restore = Restore(POOL.replace(pool));
    work()
}

/// How many threads work may be spread over.
pub(crate) fn count() -> usize {
    POOL.with_borrow(|pool| match pool {
        Pool::Shared => rayon::current_num_threads(),
        Pool::Alone => 1,
        Pool::Own(pool) => pool.current_num_threads(),
    })
}

/// Does work that is cut into pieces for rayon on the threads of this one.
pub(crate) fn spread<R: Send>(work: impl FnOnce() -> R + Send) -> R {
    let pool = POOL.with_borrow(Pool::clone);
    match pool {
        Pool::Own(pool) => pool.install(work),
        Pool::Shared | Pool::Alone => work(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_threads_holds_inside_only() {
        let outside = count();
        with_threads(3, || {
            assert_eq!(count(), 3);
            assert_eq!(spread(rayon::current_num_threads), 3);
            with_threads(1, || assert_eq!(count(), 1));
            assert_eq!(count(), 3);
        });
        with_threads(0, || assert_eq!(count(), 1));
        assert_eq!(count(), outside);
    }
}
