//! What models cost: listed, and imported by the operator.

use axum::Json;
use axum::extract::State;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use weir_keeper::day::{OrgDay, Zone};
use weir_keeper::ids::ModelId;
use weir_keeper::money::Price;
use weir_keeper::prices::{ListedPrice, PriceRow};

use super::place::{Asker, keeper};
use super::rates::allowances;
use super::shapes::{ModelText, PlainDateText};
use crate::app::App;
use crate::error::ApiError;
use crate::extract::{Body, Query};
use crate::page::Page;
use crate::prelude::Reply;

/// Prices of one import: as many as fit the body of a request.
pub const PRICES_MAX: usize = 1_000;

/// Which day.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct OnDay {
    /// A day of UTC; today unless said.
    #[serde(default)]
    #[param(value_type = Option<PlainDateText>, inline)]
    on: Option<String>,
}

/// What a model costs, in millionths of a US dollar for a million tokens.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewPrice {
    /// What Bedrock calls it.
    #[schema(value_type = ModelText)]
    pub model_id: String,
    /// The region; all regions where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(pattern = "^[A-Za-z0-9-]{1,64}$", example = "us-east-1")]
    pub region: Option<String>,
    /// Tokens read.
    #[schema(maximum = 1_000_000_000_000_u64)]
    pub input_price_usd_micros_per_1m: u64,
    /// Tokens written.
    #[schema(maximum = 1_000_000_000_000_u64)]
    pub output_price_usd_micros_per_1m: u64,
    /// Tokens read from a cache; as those read where it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(maximum = 1_000_000_000_000_u64)]
    pub cache_read_price_usd_micros_per_1m: Option<u64>,
    /// Tokens put into a cache; as those read where it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(maximum = 1_000_000_000_000_u64)]
    pub cache_write_price_usd_micros_per_1m: Option<u64>,
}

impl From<&PriceRow> for NewPrice {
    fn from(row: &PriceRow) -> NewPrice {
        NewPrice {
            model_id: row.model_id.to_string(),
            region: row.region.as_ref().map(ToString::to_string),
            input_price_usd_micros_per_1m: row.price.input,
            output_price_usd_micros_per_1m: row.price.output,
            cache_read_price_usd_micros_per_1m: row.price.cache_read,
            cache_write_price_usd_micros_per_1m: row.price.cache_write,
        }
    }
}

impl TryFrom<NewPrice> for PriceRow {
    type Error = weir_keeper::Error;

    fn try_from(new: NewPrice) -> weir_keeper::Result<PriceRow> {
        Ok(PriceRow {
            model_id: ModelId::new(&new.model_id)?,
            region: new.region.map(Into::into),
            price: Price {
                input: new.input_price_usd_micros_per_1m,
                output: new.output_price_usd_micros_per_1m,
                cache_read: new.cache_read_price_usd_micros_per_1m,
                cache_write: new.cache_write_price_usd_micros_per_1m,
            },
        })
    }
}

/// A price that holds on a day.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct ModelPrice {
    /// What Bedrock calls it.
    pub model_id: String,
    /// The region; all regions where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub region: Option<String>,
    /// Tokens read.
    pub input_price_usd_micros_per_1m: u64,
    /// Tokens written.
    pub output_price_usd_micros_per_1m: u64,
    /// Tokens read from a cache; as those read where it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_read_price_usd_micros_per_1m: Option<u64>,
    /// Tokens put into a cache; as those read where it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_write_price_usd_micros_per_1m: Option<u64>,
    /// Where it comes from: `PRICING_API`, `CACHED` or `PRICE_BOOK`.
    pub source: String,
    /// Which edition of that.
    pub version: String,
}

impl From<ListedPrice> for ModelPrice {
    fn from(listed: ListedPrice) -> ModelPrice {
        let price = &listed.row.price;
        ModelPrice {
            model_id: listed.row.model_id.to_string(),
            region: listed.row.region.as_ref().map(ToString::to_string),
            input_price_usd_micros_per_1m: price.input,
            output_price_usd_micros_per_1m: price.output,
            cache_read_price_usd_micros_per_1m: price.cache_read,
            cache_write_price_usd_micros_per_1m: price.cache_write,
            source: listed.source.as_str().to_owned(),
            version: listed.version,
        }
    }
}

/// Prices to import.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewPrices {
    /// The first day of UTC on which they hold; today unless said, and not a past one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<PlainDateText>)]
    pub from: Option<String>,
    /// The prices; each model's replace all of those imported for it from that day on.
    #[schema(min_items = 1, max_items = 1_000)]
    pub prices: Vec<NewPrice>,
}

/// Prices that were imported.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct Imported {
    /// Of how many models.
    pub models: u64,
    /// The first day on which they hold.
    #[schema(format = Date)]
    pub from: String,
}

fn today(app: &App) -> OrgDay {
    Zone::utc().day_of(i64::try_from(app.now_ms()).unwrap_or(i64::MAX))
}

/// Lists what models cost on a day
///
/// All prices are in one answer. Those of labels, which hold where nothing else is known, are in the configuration.
#[utoipa::path(get, path = "/api/v1/prices", tag = "prices", params(OnDay),
    responses((status = 200, body = Page<ModelPrice>)))]
pub(crate) async fn list(
    State(app): State<App>,
    Query(asked): Query<OnDay>,
) -> Reply<Page<ModelPrice>> {
    let on = asked.on.map_or_else(|| Ok(today(&app)), |on| on.parse())?;
    let listed = keeper(&app)?.prices(on).await?;
    Ok(Json(Page { items: listed.into_iter().map(ModelPrice::from).collect(), next_cursor: None }))
}

/// Imports what models cost from a day on
///
/// They hold until a later import, whatever is fetched. Past totals stay as they are.
#[utoipa::path(post, path = "/api/v1/prices", tag = "prices", request_body = NewPrices,
    responses((status = 200, body = Imported)))]
pub(crate) async fn import(
    State(app): State<App>,
    asker: Asker,
    Body(new): Body<NewPrices>,
) -> Reply<Imported> {
    allowances(&app)?.write(&app, &asker).await?;
    let count = new.prices.len();
    if !(1..=PRICES_MAX).contains(&count) {
        let problem = format!("are {count}; 1 to {PRICES_MAX} are imported at once");
        return Err(ApiError::invalid("prices", problem));
    }
    let from = new.from.map_or_else(|| Ok(today(&app)), |from| from.parse())?;
    let rows = new.prices.into_iter().map(PriceRow::try_from);
    let rows = rows.collect::<weir_keeper::Result<Vec<_>>>()?;
    let models = keeper(&app)?.import_prices(rows, from).await?;
    Ok(Json(Imported { models: models as u64, from: from.to_string() }))
}
