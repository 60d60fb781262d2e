//! The queue of deliveries: filled once for each news, emptied by any number of senders.

use quick_cache::sync::Cache;
use weir_table::expr::attr;
use weir_table::{Backend, Error as Fault, Item, Query, SortRange, Transaction, Write};

use super::hooks::Hooks;
use super::news::News;
use super::sign::WebhookSecret;
use crate::bounds::{
    DELIVERIES_AT_ONCE, DELIVERY_BACKOFF_BASE_MS, DELIVERY_BACKOFF_MAX_MS, DELIVERY_KEPT_MS,
    DELIVERY_LEASE_MS, DELIVERY_TRIES_MAX, NEWS_REMEMBERED_MAX,
};
use crate::error::{Error, Result};
use crate::ids::{OrgId, TokenId, WebhookId};
use crate::keeper::Keeper;
use crate::keys;
use crate::table::TTL;
use weir_table::Key;

const ORG: &str = "org_id";
const WEBHOOK: &str = "webhook_id";
const BODY: &str = "body";
const TRIES: &str = "tries";

/// Marks of news that this instance knows to be told.
pub(crate) struct Told(Cache<Key, ()>);

impl Told {
    pub(crate) fn new() -> Told {
        Told(Cache::new(NEWS_REMEMBERED_MAX))
    }
}

/// A notice to be sent now, by whoever has this.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivery {
    /// Its id; the same again is the same notice.
    pub id: TokenId,
    /// Where to post it.
    pub url: String,
    /// The body: JSON.
    pub body: String,
    /// The value of [`super::SIGNATURE_HEADER`].
    pub signature: String,
    /// How often it was tried, this time included.
    pub attempt: u32,
    org: OrgId,
    webhook: WebhookId,
    due_ms: i64,
}

/// Deliveries that are due.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DueDeliveries {
    /// Those to be sent.
    pub deliveries: Vec<Delivery>,
    /// Whether more may be due.
    pub more: bool,
}

impl<B: Backend> Keeper<B> {
    /// Queues news of a threshold, unless that was done. Tells whether this call did.
    pub(crate) async fn tell_once(&self, news: &News, now_ms: i64) -> Result<bool> {
        let News::Threshold { scope, day, threshold_pct, rung } = news else { return Ok(false) };
        let mark = keys::notice(scope, *day, &rung.label, *threshold_pct);
        let told = self.told();
        if told.0.get(&mark).is_some() {
            return Ok(false);
        }
        let hooks = self.webhooks_of(scope.org(), now_ms).await?;
        let deliveries = self.deliveries(news, &hooks, now_ms);
        if deliveries.is_empty() {
            return Ok(false);
        }
        let kept = now_ms.saturating_add(DELIVERY_KEPT_MS).div_euclid(1000);
        let item = keys::item(mark.clone()).with(TTL, kept);
        let table = self.tables().sticky_state.clone();
        let marked = Write::put(table, item).when(attr("PK").absent());
        let count = deliveries.len() as u64;
        let writes: Vec<Write> = [marked].into_iter().chain(deliveries).collect();
        let queued = self.write_together(writes).await?;
        told.0.insert(mark, ());
        if queued {
            self.meters().queued(count);
        }
        Ok(queued)
    }

    /// The writes that queue news for every webhook that wants to hear of them.
    pub(crate) fn deliveries(&self, news: &News, hooks: &Hooks, now_ms: i64) -> Vec<Write> {
        let wanted = hooks.iter().filter(|webhook| news.is_for(webhook));
        let queue = |webhook: &super::Webhook| {
            let id = TokenId::new(uuid::Uuid::new_v4().to_string()).ok()?;
            let item = keys::item(keys::delivery(now_ms, &id))
                .with(ORG, news.scope().org().as_str())
                .with(WEBHOOK, webhook.id.as_str())
                .with(BODY, news.body(id.as_str(), now_ms))
                .with(TRIES, 0)
                .with(TTL, now_ms.saturating_add(DELIVERY_KEPT_MS).div_euclid(1000));
            Some(Write::put(self.tables().sticky_state.clone(), item))
        };
        wanted.filter_map(queue).collect()
    }

    /// Deliveries that are due, at most `limit`, for the caller to send. Nobody else gets them for
    /// [`DELIVERY_LEASE_MS`]; then they are due again, unless the caller says how it went.
    ///
    /// # Errors
    /// The store fails; what was claimed is due again later.
    pub async fn due_deliveries(&self, limit: u32) -> Result<DueDeliveries> {
        let now_ms = self.now_ms();
        let until = SortRange::Lt(keys::delivery_due(now_ms.saturating_add(1)).into());
        let query = Query::partition(self.tables().sticky_state.clone(), keys::DELIVERIES);
        let query = query.sort(until).limit(limit.clamp(1, DELIVERIES_AT_ONCE));
        let page = self.store().query(&query).await?;
        let mut due = DueDeliveries { more: page.cursor.is_some(), ..DueDeliveries::default() };
        for item in &page.items {
            due.deliveries.extend(self.claim(item, now_ms).await?);
        }
        Ok(due)
    }

    /// Takes a delivery for the caller; nothing when another sender was faster, or when it has nobody to go to any more.
    async fn claim(&self, item: &Item, now_ms: i64) -> Result<Option<Delivery>> {
        let Some(mut delivery) = Delivery::read(item) else {
            tracing::warn!(key = item.s("SK"), "a delivery cannot be read and is dropped");
            return self.drop_delivery(item).await.map(|()| None);
        };
        let expired = item.i64(TTL).is_some_and(|until| until <= now_ms.div_euclid(1000));
        let webhook = match self.webhook(&delivery.org, &delivery.webhook).await {
            Ok(webhook) if !expired => webhook,
            Ok(_) | Err(Error::NotFound { .. }) => {
                return self.drop_delivery(item).await.map(|()| None);
            }
            Err(error) => return Err(error),
        };
        let tries = delivery.attempt.saturating_add(1);
        let due_ms = now_ms.saturating_add(DELIVERY_LEASE_MS);
        if !self.postpone(&delivery, item, due_ms, tries).await? {
            return Ok(None);
        }
        let secret = WebhookSecret::of(self.store(), &delivery.org, &webhook)?;
        delivery.signature = secret.sign(&delivery.body, now_ms)?;
        delivery.url = webhook.url;
        (delivery.attempt, delivery.due_ms) = (tries, due_ms);
        Ok(Some(delivery))
    }

    /// Moves a delivery on in time; not, when it is no longer where it was.
    async fn postpone(
        &self,
        delivery: &Delivery,
        item: &Item,
        due_ms: i64,
        tries: u32,
    ) -> Result<bool> {
        let table = self.tables().sticky_state.clone();
        let was = keys::delivery(delivery.due_ms, &delivery.id);
        let gone = Write::delete(table.clone(), was).when(attr("PK").exists());
        let mut item = item.clone();
        let key = keys::item(keys::delivery(due_ms, &delivery.id));
        item.set("SK", key.s("SK").unwrap_or_default());
        item.set(TRIES, tries);
        let moved = Write::put(table, item);
        match self.store().transact(Transaction::new([gone, moved])).await {
            Ok(done) => Ok(done.is_applied()),
            Err(Fault::Conflict) => Ok(false),
            Err(fault) => Err(fault.into()),
        }
    }

    async fn drop_delivery(&self, item: &Item) -> Result<()> {
        let (Some(pk), Some(sk)) = (item.s("PK"), item.s("SK")) else { return Ok(()) };
        let table = self.tables().sticky_state.clone();
        match self.store().write(Write::delete(table, Key::new(pk, sk))).await {
            Ok(_) | Err(Fault::Conflict) => Ok(()),
            Err(fault) => Err(fault.into()),
        }
    }

    /// A delivery arrived.
    ///
    /// # Errors
    /// The store fails; the delivery may then be sent again.
    pub async fn delivered(&self, delivery: &Delivery) -> Result<()> {
        let key = keys::delivery(delivery.due_ms, &delivery.id);
        self.drop_delivery(&keys::item(key)).await
    }

    /// A delivery did not arrive. It is due again later, unless it was tried often enough. Tells when.
    ///
    /// # Errors
    /// The store fails; the delivery is then due again when its claim ends.
    pub async fn failed(&self, delivery: &Delivery) -> Result<Option<i64>> {
        if delivery.attempt >= DELIVERY_TRIES_MAX {
            self.meters().gave_up();
            self.delivered(delivery).await?;
            return Ok(None);
        }
        let due_ms = self.now_ms().saturating_add(backoff_ms(delivery.attempt));
        let item = delivery.write(self.now_ms());
        self.postpone(delivery, &item, due_ms, delivery.attempt).await?;
        Ok(Some(due_ms))
    }
}

/// How long to wait after so many tries: three times as long each time.
fn backoff_ms(tries: u32) -> i64 {
    let longer = 3_i64.saturating_pow(tries.saturating_sub(1));
    DELIVERY_BACKOFF_BASE_MS.saturating_mul(longer).min(DELIVERY_BACKOFF_MAX_MS)
}

impl Delivery {
    fn read(item: &Item) -> Option<Delivery> {
        let (due, id) = item.s("SK")?.split_once('#')?;
        Some(Delivery {
            id: TokenId::new(id).ok()?,
            url: String::new(),
            body: item.s(BODY)?.to_owned(),
            signature: String::new(),
            attempt: item.i64(TRIES)?.try_into().ok()?,
            org: OrgId::new(item.s(ORG)?).ok()?,
            webhook: WebhookId::new(item.s(WEBHOOK)?).ok()?,
            due_ms: due.parse().ok()?,
        })
    }

    fn write(&self, now_ms: i64) -> Item {
        keys::item(keys::delivery(self.due_ms, &self.id))
            .with(ORG, self.org.as_str())
            .with(WEBHOOK, self.webhook.as_str())
            .with(BODY, self.body.as_str())
            .with(TRIES, self.attempt)
            .with(TTL, now_ms.saturating_add(DELIVERY_KEPT_MS).div_euclid(1000))
    }
}
