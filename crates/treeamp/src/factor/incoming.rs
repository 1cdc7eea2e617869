//! A view of the messages that reach a node.

/// The messages at the ports of a node: a store and the slots to look into. Nothing is gathered.
#[derive(Debug)]
pub struct Incoming<'a, M> {
    store: &'a [M],
    slots: &'a [usize],
}

impl<M> Clone for Incoming<'_, M> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<M> Copy for Incoming<'_, M> {}

impl<'a, M> Incoming<'a, M> {
    /// A view of `store` through `slots`, one slot per port.
    #[must_use]
    pub fn new(store: &'a [M], slots: &'a [usize]) -> Self {
        Self { store, slots }
    }

    /// The message at a port.
    #[must_use]
    pub fn get(&self, port: usize) -> &'a M {
        &self.store[self.slots[port]]
    }

    /// Number of ports.
    #[must_use]
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// There is no port.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// All messages, in the order of the ports.
    pub fn iter(&self) -> impl Iterator<Item = &'a M> + Clone + use<'a, M> {
        let store = self.store;
        self.slots.iter().map(move |s| &store[*s])
    }
}
