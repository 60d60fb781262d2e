//! The image of an item in a change, decoded on demand.
//!
//! Most consumers read a few attributes of a few changes. So a back-end may leave an image as bytes, and the key of a
//! change is always decoded.

use std::fmt;
use std::sync::Arc;

use super::Change;
use crate::error::Result;
use crate::item::Item;

/// Selects attributes.
pub(crate) type Wanted<'a> = &'a dyn Fn(&str) -> bool;

/// The item before and after a change.
pub type ImagePair = (Option<Item>, Option<Item>);

/// Encoded images of several changes.
pub(crate) trait Stored: Send + Sync {
    /// The selected attributes of both images of a change.
    fn both(&self, change: usize, wanted: Wanted<'_>) -> Result<ImagePair>;

    /// The selected attributes of the image after a change. It costs less than both: the old image is often stored as a delta.
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
    /// The image before a stored change.
    #[cfg(feature = "embedded")]
    pub(crate) fn before(stored: Arc<dyn Stored>, change: usize) -> Image {
        Image(Form::Before(stored, change))
    }

    /// The image after a stored change.
    #[cfg(feature = "embedded")]
    pub(crate) fn after(stored: Arc<dyn Stored>, change: usize) -> Image {
        Image(Form::After(stored, change))
    }

    /// The whole item.
    ///
    /// # Errors
    /// The stored image cannot be decoded.
    pub fn item(&self) -> Result<Item> {
        match &self.0 {
            Form::Item(item) => Ok(item.clone()),
            Form::Before(..) | Form::After(..) => self.pick(|_| true),
        }
    }

    /// The item with the selected attributes only. The others are not decoded.
    ///
    /// # Errors
    /// The stored image cannot be decoded.
    pub fn pick(&self, wanted: impl Fn(&str) -> bool) -> Result<Item> {
        let picked = match &self.0 {
            Form::Item(item) => return Ok(select(item, &wanted)),
            Form::Before(stored, change) => stored.both(*change, &wanted)?.0,
            Form::After(stored, change) => stored.after(*change, &wanted)?,
        };
        Ok(picked.unwrap_or_default())
    }
}

impl Change {
    /// The selected attributes of both images, which costs less than one after the other.
    ///
    /// # Errors
    /// The stored image cannot be decoded.
    pub fn pick(&self, wanted: impl Fn(&str) -> bool) -> Result<ImagePair> {
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

    /// Both images with all attributes.
    ///
    /// # Errors
    /// The stored image cannot be decoded.
    pub fn images(&self) -> Result<ImagePair> {
        self.pick(|_| true)
    }
}

fn select(item: &Item, wanted: Wanted<'_>) -> Item {
    let attributes = item.attrs().iter().filter(|(name, _)| wanted(name));
    attributes.map(|(name, value)| (name.clone(), value.clone())).collect()
}

impl From<Item> for Image {
    fn from(item: Item) -> Image {
        Image(Form::Item(item))
    }
}

/// Images are equal if they decode to the same item. An image that cannot be decoded equals none.
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
    fn picks_only_the_selected_attributes() {
        let item = Item::new().with("a", 1).with("b", 2).with("c", 3);
        let image = Image::from(item.clone());
        assert_eq!(image.item().unwrap(), item);
        assert_eq!(image.pick(|name| name == "b").unwrap(), Item::new().with("b", 2));
        assert!(image.pick(|_| false).unwrap().is_empty());
    }
}
