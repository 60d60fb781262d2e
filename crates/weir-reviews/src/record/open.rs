//! Opens a review that is recorded step by step.

use weir_table::expr::attr;
use weir_table::{Backend, Write};

use super::assemble::{Head, files_unit, in_progress};
use super::{NewHead, Recorded, conflict, new_id, review_ref};
use crate::error::{Error, Result};
use crate::items::{ItemContext, Lookup, State};
use crate::retry::{TRIES_MAX, pause};
use crate::reviews::Reviews;

impl<B: Backend> Reviews<B> {
    /// Opens a review in progress. The same again changes nothing.
    ///
    /// # Errors
    /// A field is invalid, the id has other content, or the store fails; then the call can be repeated.
    pub async fn open_review(&self, head: NewHead) -> Result<Recorded> {
        head.check(self.now_ms(), self.settings().review_days)?;
        let id = head.id.clone().map_or_else(new_id, Ok)?;
        let (review, head_hash) = (review_ref(id, &head.pull_request), head.hash());
        for attempt in 0..TRIES_MAX {
            pause(attempt).await;
            let opened = match self.lookup(&review.id).await? {
                None => {
                    let created_at_ms = head.created_at_ms.unwrap_or_else(|| self.now_ms());
                    let context = ItemContext::new(review.clone(), created_at_ms, self.settings());
                    self.open_new(&context, &head, head_hash.clone()).await?
                }
                Some(lookup) if self.free_id(&lookup).await? => None,
                Some(lookup) if lookup.review != review || lookup.head_hash != head_hash => {
                    return Err(conflict(&review.id, "is opened already with other content"));
                }
                Some(lookup) if lookup.state == State::Recording => {
                    return Err(conflict(&review.id, "is being recorded in one call"));
                }
                Some(lookup) => self.unchanged(&lookup).await?,
            };
            if let Some(opened) = opened {
                return Ok(opened);
            }
        }
        Err(Error::Contended)
    }

    /// `None` when another writer was faster.
    async fn open_new(
        &self,
        context: &ItemContext,
        head: &NewHead,
        head_hash: String,
    ) -> Result<Option<Recorded>> {
        let lookup = Lookup::new(context, State::InProgress, (String::new(), head_hash));
        let of_head = Head {
            pull_request: head.pull_request.clone(),
            requested_by: head.requested_by.clone(),
        };
        let review = in_progress(context, of_head);
        let mut items = files_unit(context, &head.pull_request).unwrap_or_default();
        items.push(review.encode(context));
        let put = |item| Write::put(self.table().clone(), item);
        let mut writes = vec![put(lookup.encode()).when(attr("PK").absent())];
        writes.extend(items.into_iter().map(put));
        let is_applied = self.transact(writes).await?.is_applied();
        Ok(is_applied.then_some(Recorded { review, changed: true }))
    }
}
