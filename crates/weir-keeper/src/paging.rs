//! Lists, page by page.

/// A page of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page<T> {
    /// The entries of the page.
    pub items: Vec<T>,
    /// Cursor of the next page; `None` at the end.
    pub cursor: Option<String>,
}
