//! An allocator that watches how many bytes a program holds.
#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

static HELD: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

struct Watched;

// SAFETY: every call is passed on to the system allocator unchanged.
unsafe impl GlobalAlloc for Watched {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let held = HELD.fetch_add(layout.size(), Ordering::Relaxed) + layout.size();
        PEAK.fetch_max(held, Ordering::Relaxed);
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        HELD.fetch_sub(layout.size(), Ordering::Relaxed);
        unsafe { System.dealloc(ptr, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Watched = Watched;

/// The bytes that are held.
pub fn now() -> usize {
    HELD.load(Ordering::Relaxed)
}

/// The most that was held since the last restart.
pub fn peak() -> usize {
    PEAK.load(Ordering::Relaxed)
}

/// The peak is what is held now.
pub fn restart() {
    PEAK.store(now(), Ordering::Relaxed);
}
