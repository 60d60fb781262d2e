//! Looks up the price of a model at a time.
//!
//! [`find`] is the only lookup: counting, `GET /prices` and the list of all prices use it, so they cannot disagree.

use std::sync::Arc;

use weir_calendar::Zone;
use weir_table::{Backend, Item, Query};

use super::cache::{CachedPrice, PriceKey};
use super::edition::Edition;
use super::import_list::ImportList;
use super::model_names::{keys as price_keys, names};
use super::vendors::{Vendors, ambiguous, choose_vendor};
use super::{PriceBook, PriceSource, ResolvedPrice};
use crate::bounds::{DAY_MS, PRICE_PAGES_MAX};
use crate::day::OrgDay;
use crate::error::{Error, Result};
use crate::ids::{Label, ModelId, Vendor};
use crate::keeper::Keeper;
use crate::keys;
use crate::profiles::InferenceProfile;

/// Editions of a model's prices that are in force, the first of them preferred.
#[derive(Debug, Default)]
pub(super) struct EditionsInForce(Vec<Edition>);

impl EditionsInForce {
    /// The editions that are in force on a day: imports, the latest first, then the one last fetched. A fetched file is
    /// complete, so it replaces all that was fetched before; an import has only the prices it names.
    pub(super) fn new(
        editions: Vec<Edition>,
        imports: &ImportList,
        (on, now_ms): (OrgDay, i64),
    ) -> EditionsInForce {
        let mut editions = editions;
        editions.retain(|it| it.from <= on && it.is_unexpired(now_ms) && imports.is_in_force(it));
        let order = |it: &Edition| (it.import.is_some(), it.from, it.import.clone());
        editions.sort_by_key(|it| std::cmp::Reverse(order(it)));
        let last_fetched = editions.iter().find(|it| it.import.is_none()).map(|it| it.from);
        editions.retain(|it| it.import.is_some() || Some(it.from) == last_fetched);
        EditionsInForce(editions)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Edition> {
        self.0.iter()
    }
}

/// A model whose price is looked up.
#[derive(Debug, Clone, Copy)]
pub struct PriceQuery<'a> {
    /// The model.
    pub model: &'a ModelId,
    /// The vendor, where it was named.
    pub vendor: Option<&'a Vendor>,
    /// The vendor of the label, for a model that several vendors have a price for.
    pub label_vendor: Option<&'a Vendor>,
    /// The region of the call.
    pub region: Option<&'a str>,
}

impl<'a> PriceQuery<'a> {
    /// A model, of whichever vendor has it, in no region in particular.
    #[must_use]
    pub fn new(model: &'a ModelId) -> PriceQuery<'a> {
        PriceQuery { model, vendor: None, label_vendor: None, region: None }
    }
}

/// The price of a model in a region on a day: that of the most specific key, whoever set it. For one key, an imported
/// price precedes a fetched one, and that the price book.
///
/// # Errors
/// Several vendors have a price for the model, and none of them was named: returns all of them.
pub(super) fn find<'e>(
    query: &PriceQuery<'_>,
    on: OrgDay,
    book: &PriceBook,
    editions: impl Fn(&str) -> Option<&'e EditionsInForce>,
) -> Result<Option<ResolvedPrice>, Vendors> {
    let model = query.model.as_str();
    let stored = |name| editions(name).into_iter().flat_map(EditionsInForce::iter);
    let mut priced = Vendors::new();
    for name in names(model) {
        priced.extend(book.vendors(name));
        priced.extend(stored(name).map(|it| it.vendor.clone()));
    }
    let vendor = choose_vendor(query.vendor, query.label_vendor, &priced)?;
    Ok(price_keys(model, query.region).find_map(|(name, region)| {
        let mut of_vendor = stored(name).filter(|it| it.vendor == vendor);
        let found = of_vendor.find_map(|it| Some(it.resolve(*it.prices.get(&region)?, on)));
        let key = (vendor.clone(), region);
        let (price, source, version) = match found {
            Some(found) => found,
            None => (book.get(name, &key)?, PriceSource::PriceBook, book.as_of().to_owned()),
        };
        let (vendor, region) = key;
        Some(ResolvedPrice { price, source, version, listed_as: name.into(), vendor, region })
    }))
}

/// The price of an inference profile: its own, else that of the model it was registered for, else that of the model in
/// its ARN.
fn profile_price(
    profile: &InferenceProfile,
    by_arn: Option<Arc<ResolvedPrice>>,
    by_model: Option<Arc<ResolvedPrice>>,
) -> Option<Arc<ResolvedPrice>> {
    let arn = profile.inference_profile_arn.as_str();
    match by_arn {
        Some(own) if own.listed_as == arn => Some(own),
        by_arn => by_model.or(by_arn),
    }
}

impl<B: Backend> Keeper<B> {
    /// The price of a model in a region at a time: see `find`. `None` when unknown. The store is read once a minute per
    /// model, vendor and region.
    ///
    /// # Errors
    /// Several vendors have a price for the model, and none of them was named. Or the store fails.
    pub async fn price(
        &self,
        query: &PriceQuery<'_>,
        at_ms: i64,
    ) -> Result<Option<Arc<ResolvedPrice>>> {
        let prices = &self.inner.prices;
        let now_ms = self.now_ms();
        let PriceQuery { model, vendor, label_vendor, region } = *query;
        let key = PriceKey { model, vendor, label_vendor, region, day: at_ms.div_euclid(DAY_MS) };
        let price = match prices.get(key, now_ms) {
            Some(cached) => cached,
            None => {
                // Read before the imports, so that no price of an older list is cached.
                let epoch = prices.epoch();
                let imports = self.cached_imports(now_ms).await?;
                let price = self.read_price(query, (at_ms, now_ms), &imports).await?;
                prices.insert(key, price.clone(), imports.read_ms, epoch);
                price
            }
        };
        price.map_err(|vendors| ambiguous("vendor", model, &vendors))
    }

    /// The price of a model that is called by a label: that of its vendor, else the label's. The label may be an inference
    /// profile.
    ///
    /// # Errors
    /// Several vendors have a price for the model, and neither the query nor the label names one. Or the store fails.
    pub async fn price_by_label(
        &self,
        query: &PriceQuery<'_>,
        (label, profile): (&Label, Option<&InferenceProfile>),
        at_ms: i64,
    ) -> Result<Option<Arc<ResolvedPrice>>> {
        let label_vendor = self.catalog().get(label).and_then(|def| def.vendor.as_ref());
        let found = self.price(&PriceQuery { label_vendor, ..*query }, at_ms).await?;
        let own = |profile: &&InferenceProfile| profile.inference_profile_arn == *query.model;
        let Some(profile) = profile.filter(own) else {
            return Ok(found.or_else(|| self.inner.prices.label_price(label)));
        };
        let region = query.region.or_else(|| profile.region());
        let by_model = match &profile.model_id {
            Some(model) => {
                self.price(&PriceQuery { region, ..PriceQuery::new(model) }, at_ms).await?
            }
            None => None,
        };
        Ok(profile_price(profile, found, by_model))
    }

    async fn read_price(
        &self,
        query: &PriceQuery<'_>,
        (at_ms, now_ms): (i64, i64),
        imports: &ImportList,
    ) -> Result<CachedPrice> {
        let on = Zone::utc().day_of(at_ms);
        let mut editions = Vec::new();
        for name in names(query.model.as_str()) {
            let all = self.editions_of(name).await?;
            editions.push((name, EditionsInForce::new(all, imports, (on, now_ms))));
        }
        let of = |name: &str| editions.iter().find(|(of, _)| *of == name).map(|(_, all)| all);
        Ok(find(query, on, self.price_book(), of).map(|found| found.map(Arc::new)))
    }

    /// All stored editions of a model.
    async fn editions_of(&self, name: &str) -> Result<Vec<Edition>> {
        let mut query = Query::partition(self.tables().pricing_cache.clone(), name);
        let mut editions = Vec::new();
        for _ in 0..PRICE_PAGES_MAX {
            let page = self.store().query(&query).await?;
            let is_edition = |item: &&Item| keys::item_key(item) != Some(keys::imports());
            for item in page.items.iter().filter(is_edition) {
                editions.push(Edition::decode(item)?);
            }
            let Some(cursor) = page.cursor else { return Ok(editions) };
            query = query.after(cursor);
        }
        Err(Error::damaged("the table of prices", "a model has too many items"))
    }
}

#[cfg(test)]
mod tests {
    use compact_str::CompactString;

    use super::*;
    use crate::ids::EventId;
    use crate::money::Price;

    const NOVA: &str = "amazon.nova-lite-v1:0";
    const ARN: &str = "arn:aws:bedrock:us-east-1:1:application-inference-profile/a1";

    fn day(number: u8) -> OrgDay {
        OrgDay::from_dashed(&format!("2037-01-{number:02}")).unwrap()
    }

    fn edition(from: u8, import: Option<&str>, prices: &[(Option<&str>, u64)]) -> Edition {
        let price = |(region, input): &(Option<&str>, u64)| {
            (region.map(CompactString::from), Price::new(*input, 0))
        };
        Edition {
            model: ModelId::new(NOVA).unwrap(),
            vendor: None,
            from: day(from),
            import: import.map(|id| EventId::new(id).unwrap()),
            prices: prices.iter().map(price).collect(),
            expires_at_epoch: None,
        }
    }

    fn in_force(editions: Vec<Edition>) -> EditionsInForce {
        let closed = editions.iter().filter_map(|it| it.import.clone());
        let closed = closed.map(|id| (id.clone(), crate::prices::PriceImport::closed(id, day(1))));
        let imports = ImportList { entries: closed.collect(), ..ImportList::default() };
        EditionsInForce::new(editions, &imports, (day(20), 0))
    }

    #[test]
    fn the_most_specific_key_wins_whoever_set_it() {
        let book = PriceBook::shipped().unwrap();
        let input = |model: &str, region, editions: &EditionsInForce| {
            let model = ModelId::new(model).unwrap();
            let of = |name: &str| (name == NOVA).then_some(editions);
            let query = PriceQuery { region, ..PriceQuery::new(&model) };
            let found = find(&query, day(20), &book, of).unwrap()?;
            Some((found.price.input, found.source.as_str()))
        };
        let (us, gov) = ("us.amazon.nova-lite-v1:0", Some("us-gov-west-1"));
        // An imported price of the bare id replaces that price, and neither the regional one nor that of the profile.
        let bare = in_force(vec![edition(5, Some("01"), &[(None, 1)])]);
        assert_eq!(input(NOVA, None, &bare), Some((1, "CACHED")));
        assert_eq!(input(NOVA, Some("eu-west-1"), &bare), Some((1, "CACHED")));
        assert_eq!(input(NOVA, gov, &bare), Some((72_000, "PRICE_BOOK")));
        assert_eq!(input(us, None, &bare), Some((60_000, "PRICE_BOOK")));
        assert_eq!(input("ca.amazon.nova-lite-v1:0", None, &bare), Some((1, "CACHED")));
        // For one key the import precedes the fetched price, and the later import the earlier one.
        let all = vec![
            edition(9, None, &[(None, 2)]),
            edition(8, None, &[(Some("eu-west-1"), 3)]),
            edition(5, Some("01"), &[(None, 4), (Some("ap-south-1"), 5)]),
            edition(6, Some("02"), &[(None, 6)]),
        ];
        let all = in_force(all);
        assert_eq!(input(NOVA, None, &all), Some((6, "CACHED")));
        assert_eq!(input(NOVA, Some("ap-south-1"), &all), Some((5, "CACHED")));
        // What was fetched before the last file is gone.
        assert_eq!(input(NOVA, Some("eu-west-1"), &all), Some((6, "CACHED")));
        assert_eq!(input(ARN, None, &all), None);
    }

    #[test]
    fn a_profile_has_its_own_price_or_that_of_its_model() {
        let priced = |name: &str, input| {
            Some(Arc::new(ResolvedPrice {
                price: Price::new(input, 0),
                source: PriceSource::Cached,
                version: String::new(),
                listed_as: name.into(),
                vendor: None,
                region: None,
            }))
        };
        let profile = InferenceProfile {
            profile_label: Label::new("ours").unwrap(),
            inference_profile_arn: ModelId::new(ARN).unwrap(),
            model_id: Some(ModelId::new(NOVA).unwrap()),
            description: String::new(),
            created_at_epoch: 0,
            updated_at_epoch: 0,
        };
        let input = |by_arn, by_model| Some(profile_price(&profile, by_arn, by_model)?.price.input);
        assert_eq!(input(priced(ARN, 1), priced(NOVA, 2)), Some(1));
        assert_eq!(input(priced("config", 3), priced(NOVA, 2)), Some(2));
        assert_eq!(input(None, priced(NOVA, 2)), Some(2));
        assert_eq!(input(priced(NOVA, 4), None), Some(4));
        assert_eq!(input(None, None), None);
    }
}
