//! The store under Weir.
