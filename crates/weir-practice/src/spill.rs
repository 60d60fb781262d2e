//! Large texts of items in the object storage.
//!
//! 1. [`Practice::fit`] moves the largest texts of an item that is too large into objects. It marks each object before it
//!    stores it.
//! 2. The transaction that writes the item removes the marks ([`Fitted::unmark`]).
//! 3. A transaction that drops an object marks it again ([`Practice::marks`]); the writer then deletes both.
//!
//! So a marked object is one that no item names, and [`Practice::sweep_objects`] deletes it. The sweep first claims the
//! mark, which no transaction removes any more: a slow writer cannot name an object that is being deleted.

use weir_table::expr::{attr, set};
use weir_table::limits::BATCH_WRITE_MAX;
use weir_table::{Backend, Item, Query, SortRange, Value, Write};

use crate::bounds::{BLOCKING_MIN, ITEM_BYTES_MAX, OBJECT_MARK_SHARDS, OBJECT_ORPHAN_MS, TEXT_MAX};
use crate::error::{Error, Result};
use crate::ids::EventId;
use crate::item::{TYPE, field};
use crate::keys;
use crate::kinds::EntityType;
use crate::objects::ObjectOwner;
use crate::practice::Practice;
use crate::text::{self, StoredText};
use crate::update::set_field;

/// A mark that the sweep has claimed.
const CLAIMED: &str = "claimed";

/// An item that fits into the store, and the objects that were stored for it.
#[derive(Debug)]
pub struct Fitted {
    /// The item.
    pub item: Item,
    objects: Vec<MarkedObject>,
}

/// An object with a mark.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MarkedObject {
    /// Name of the object.
    pub name: String,
    /// When the sweep may delete it.
    pub due_ms: i64,
}

/// The result of one sweep.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SweepReport {
    /// Objects deleted.
    pub deleted: u64,
    /// Whether more may be due.
    pub more: bool,
}

impl<B: Backend> Practice<B> {
    /// The value of a text that stays in its item, if it fits.
    ///
    /// # Errors
    /// The text is larger than [`TEXT_MAX`].
    pub async fn encode_text(&self, name: &str, text: String) -> Result<Value> {
        check_text(name, &text)?;
        if text.len() < BLOCKING_MIN {
            return Ok(text::encode(&text));
        }
        let encoded = tokio::task::spawn_blocking(move || text::encode(&text)).await;
        encoded.map_err(|_| Error::damaged(format!("the text {name}"), "it cannot be compressed"))
    }

    /// Moves the largest of these texts into objects until the item fits. The caller writes the item in a transaction with
    /// [`Fitted::unmark`], or calls [`Practice::discard`] if that is refused.
    ///
    /// # Errors
    /// The item does not fit, or the store or the object storage fails.
    pub async fn fit(&self, item: Item, owner: &ObjectOwner, texts: &[&str]) -> Result<Fitted> {
        let now_ms = self.now_ms();
        let due_ms = now_ms.saturating_add(OBJECT_ORPHAN_MS);
        let (mut item, mut contents) = (item, Vec::new());
        while item.size() > ITEM_BYTES_MAX {
            let (name, text) = largest(&item, texts)?;
            if !self.objects().is_available() {
                let problem = "does not fit into its item, and no object storage is configured";
                return Err(Error::too_large(request_name(name), problem));
            }
            let object = owner.object_name(name, &EventId::next(self.event_ids(), now_ms));
            set_field(&mut item, name, text::encode_object(&object, text.len()));
            contents.push((MarkedObject { name: object, due_ms }, text));
        }
        let objects: Vec<_> = contents.iter().map(|(object, _)| object.clone()).collect();
        self.put_marks(&objects).await?;
        for (object, text) in contents {
            if let Err(error) = self.objects().put(&object.name, text.into_bytes()).await {
                self.discard(&objects).await;
                return Err(error);
            }
        }
        Ok(Fitted { item, objects })
    }

    async fn put_marks(&self, objects: &[MarkedObject]) -> Result<()> {
        let marks = self.marks(objects);
        for some in marks.chunks(BATCH_WRITE_MAX) {
            self.store().batch_write(some.to_vec()).await?;
        }
        Ok(())
    }

    /// The writes that mark objects, for the transaction that drops them.
    #[must_use]
    pub fn marks(&self, objects: &[MarkedObject]) -> Vec<Write> {
        let mark = |object: &MarkedObject| {
            let item = keys::item(keys::object_mark(object.due_ms, &object.name));
            Write::put(self.table().clone(), item.with(TYPE, EntityType::ObjectMark.as_str()))
        };
        objects.iter().map(mark).collect()
    }

    /// The objects that one version of an item names and the next one does not, due at once.
    #[must_use]
    pub fn dropped(&self, old: &Item, new: Option<&Item>, texts: &[&str]) -> Vec<MarkedObject> {
        let still = new.map(|new| object_names(new, texts)).unwrap_or_default();
        let gone = object_names(old, texts).into_iter().filter(|name| !still.contains(name));
        gone.map(|name| MarkedObject { name, due_ms: self.now_ms() }).collect()
    }

    /// Deletes objects that no item names, and their marks. What fails is left for the sweep.
    pub async fn discard(&self, objects: &[MarkedObject]) {
        for object in objects {
            if self.objects().delete(&object.name).await.is_ok() {
                let mark = keys::object_mark(object.due_ms, &object.name);
                self.write(Write::delete(self.table().clone(), mark)).await.ok();
            }
        }
    }

    /// Reads a text of an item; `None` if its object is missing, because the item has changed since it was read.
    ///
    /// # Errors
    /// The text is corrupt, or the object storage fails.
    pub async fn read_text(&self, item: &Item, name: &str) -> Result<Option<String>> {
        let value = field(name).find(item).filter(|value| **value != Value::Null);
        let object = match value.map(|value| text::decode(name, value)).transpose()? {
            None => return Ok(Some(String::new())),
            Some(StoredText::Here(text)) => return Ok(Some(text)),
            Some(StoredText::Object { name, .. }) => name,
        };
        let Some(bytes) = self.objects().get(&object).await? else { return Ok(None) };
        let wrong = |_| Error::damaged(format!("the object {object:?}"), "it is not UTF-8");
        String::from_utf8(bytes).map(Some).map_err(wrong)
    }

    /// Deletes up to `limit` objects that no item names.
    ///
    /// # Errors
    /// The store or the object storage fails. The next sweep continues.
    pub async fn sweep_objects(&self, now_ms: i64, limit: u32) -> Result<SweepReport> {
        let mut report = SweepReport::default();
        for shard in 0..OBJECT_MARK_SHARDS {
            let left = u64::from(limit).saturating_sub(report.deleted);
            let Some(left) = u32::try_from(left).ok().filter(|left| *left > 0) else {
                return Ok(SweepReport { more: true, ..report });
            };
            let due = keys::object_mark_sort(now_ms.saturating_add(1), "");
            let query = Query::partition(self.table().clone(), keys::object_mark_partition(shard));
            let query = query.sort(SortRange::Lt(due.into()));
            let page = self.store().page(query, left, None).await?;
            for mark in &page.items {
                report.deleted += u64::from(self.sweep_object(mark).await?);
            }
            report.more |= page.cursor.is_some();
        }
        Ok(report)
    }

    async fn sweep_object(&self, mark: &Item) -> Result<bool> {
        let name = mark.s("SK").and_then(keys::parse_object_mark).map(|(_, name)| name);
        let (Some(name), Some(key)) = (name, keys::key_of(mark)) else { return Ok(false) };
        let claim = Write::update(self.table().clone(), key.clone(), set(CLAIMED, true));
        if !self.write(claim.when(attr("PK").exists()).essential()).await?.is_applied() {
            return Ok(false);
        }
        self.objects().delete(name).await?;
        self.write(Write::delete(self.table().clone(), key)).await?;
        Ok(true)
    }
}

impl Fitted {
    /// The writes that remove the marks of the objects, for the transaction that writes the item.
    pub fn unmark(&self, table: &weir_table::Name) -> impl Iterator<Item = Write> {
        let unclaimed = || attr("PK").exists().and(attr(CLAIMED).absent());
        self.objects.iter().map(move |object| {
            let mark = keys::object_mark(object.due_ms, &object.name);
            Write::delete(table.clone(), mark).when(unclaimed())
        })
    }

    /// The objects that were stored for the item.
    #[must_use]
    pub fn objects(&self) -> &[MarkedObject] {
        &self.objects
    }
}

/// Checks the size of a text.
///
/// # Errors
/// The text is larger than [`TEXT_MAX`].
pub fn check_text(name: &str, text: &str) -> Result<()> {
    if text.len() <= TEXT_MAX {
        return Ok(());
    }
    let problem = format!("has {} bytes; at most {TEXT_MAX} are allowed", text.len());
    Err(Error::too_large(name, problem))
}

/// The names of the objects with these texts of an item. Other fields are of clients and may look like names of objects.
pub(crate) fn object_names(item: &Item, texts: &[&str]) -> Vec<String> {
    let name = |name: &&str| match text::decode(name, field(name).find(item)?) {
        Ok(StoredText::Object { name, .. }) => Some(name),
        _ => None,
    };
    texts.iter().filter_map(name).collect()
}

/// The name of a text in requests, so that an error names the field that a client sent.
fn request_name(name: &str) -> &str {
    match name {
        "sol" => "solution_code",
        "con" => "constraints",
        "gen" => "generator_code",
        "cod" => "code",
        "trs" => "test_results",
        "inp" => "input",
        "out" => "output",
        other => other,
    }
}

/// The largest text that is still in the item.
fn largest<'a>(item: &Item, texts: &[&'a str]) -> Result<(&'a str, String)> {
    let value = |name: &'a str| match field(name).find(item) {
        Some(value @ (Value::S(_) | Value::B(_))) => Some((name, value)),
        _ => None,
    };
    let found = texts.iter().filter_map(|name| value(name)).max_by_key(|(_, value)| value.size());
    let (name, value) = found.ok_or_else(|| {
        let problem = format!("has {} bytes; at most {ITEM_BYTES_MAX} are allowed", item.size());
        Error::too_large("item", problem)
    })?;
    match text::decode(name, value)? {
        StoredText::Here(text) => Ok((name, text)),
        StoredText::Object { .. } => Err(Error::damaged(format!("the text {name}"), "its form")),
    }
}
