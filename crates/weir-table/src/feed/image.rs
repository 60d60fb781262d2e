//! An item as a change of the feed holds it: decoded when it is looked at, and only as far.
//!
//! Most of those who read a feed look at a few attributes of a few changes. A back-end may so leave an image as
//! the bytes it has; a change is told apart by its key, which is always there.

use std::fmt;
use std::sync::Arc;

use super::Change;
use crate::error::Result;
use crate::item::Item;

/// Says which attributes are wanted.
pub(crate) type Wanted<'a> = &'a dyn Fn(&str) -> bool;

/// The item before a change, if there was one, and after it, if there is one.
pub type Both = (Option<Item>, Option<Item>);

/// The images of some changes as a back-end keeps them.
pub(crate) trait Stored: Send + Sync {
    /// What is wanted of each image that there is of a change.
    fn both(&self, change: usize, wanted: Wanted<'_>) -> Result<Both>;

    /// What is wanted of the image after it, if there is one; the old one is often told by what it has different.
    fn after(&self, change: usize, wanted: Wanted<'_>) -> Result<Option<Item>>;
}

/// An item before or after a change.
#[derive(Clone)]
pub struct Image(Form);

#[derive(Clone)]
enum Form {
    Item(Item),
    Before(Arc<dyn Stored>, usize),
    After(Arc<dyn Stored>, usize),
}

impl Image {
    /// The image before a change of those that a back-end has stored.
    #[cfg(feature = "embedded")]
    pub(crate) fn before(stored: Arc<dyn Stored>, change: usize) -> Image {
        Image(Form::Before(stored, change))
    }

    /// The image after it.
    #[cfg(feature = "embedded")]
    pub(crate) fn after(stored: Arc<dyn Stored>, change: usize) -> Image {
        Image(Form::After(stored, change))
    }

    /// The whole item.
    ///
    /// # Errors
    /// What the feed holds cannot be read.
    pub fn item(&self) -> Result<Item> {
        match &self.0 {
            Form::Item(item) => Ok(item.clone()),
            Form::Before(..) | Form::After(..) => self.pick(|_| true),
        }
    }

    /// The item with those of its attributes that are wanted. The others are not decoded.
    ///
    /// # Errors
    /// What the feed holds cannot be read.
    pub fn pick(&self, wanted: impl Fn(&str) -> bool) -> Result<Item> {
        let picked = match &self.0 {
            Form::Item(item) => return Ok(of_item(item, &wanted)),
            Form::Before(stored, change) => stored.both(*change, &wanted)?.0,
            Form::After(stored, change) => stored.after(*change, &wanted)?,
        };
        Ok(picked.unwrap_or_default())
    }
}

impl Change {
    /// What is wanted of both images, which costs less than one after the other.
    ///
    /// # Errors
    /// What the feed holds cannot be read.
    pub fn pick(&self, wanted: impl Fn(&str) -> bool) -> Result<Both> {
        if let (Some(Image(Form::Before(old, number))), Some(Image(Form::After(new, same)))) =
            (&self.old, &self.new)
            && Arc::ptr_eq(old, new)
            && number == same
        {
            return new.both(*number, &wanted);
        }
        let pick = |image: &Option<Image>| image.as_ref().map(|image| image.pick(&wanted));
        Ok((pick(&self.old).transpose()?, pick(&self.new).transpose()?))
    }

    /// Both images, whole.
    ///
    /// # Errors
    /// What the feed holds cannot be read.
    pub fn images(&self) -> Result<Both> {
        self.pick(|_| true)
    }
}

fn of_item(item: &Item, wanted: Wanted<'_>) -> Item {
    let attributes = item.attrs().iter().filter(|(name, _)| wanted(name));
    attributes.map(|(name, value)| (name.clone(), value.clone())).collect()
}

impl From<Item> for Image {
    fn from(item: Item) -> Image {
        Image(Form::Item(item))
    }
}

/// Images are equal that hold the same item. One that cannot be read equals none.
impl PartialEq for Image {
    fn eq(&self, other: &Image) -> bool {
        matches!((self.item(), other.item()), (Ok(one), Ok(two)) if one == two)
    }
}

impl Eq for Image {}

impl fmt::Debug for Image {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.item() {
            Ok(item) => item.fmt(f),
            Err(error) => write!(f, "unreadable: {error}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_wanted_is_picked() {
        let item = Item::new().with("a", 1).with("b", 2).with("c", 3);
        let image = Image::from(item.clone());
        assert_eq!(image.item().unwrap(), item);
        assert_eq!(image.pick(|name| name == "b").unwrap(), Item::new().with("b", 2));
        assert!(image.pick(|_| false).unwrap().is_empty());
    }
}
