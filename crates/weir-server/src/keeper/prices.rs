//! What models cost: listed, and imported by the operator.

use crate::keeper::error::KeeperError;
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use weir_keeper::day::{OrgDay, Zone};
use weir_keeper::ids::{EventId, ModelId};
use weir_keeper::money::Price;
use weir_keeper::prices::{Import, ListedPrice, PriceRow};

use super::place::{Asker, keeper};
use super::rates::allowances;
use super::shapes::{ModelText, PlainDateText, RegionText, WordText};
use crate::keeper::error::Reply;
use weir_framework::app::App;
use weir_framework::error::ApiError;
use weir_framework::extract::{Body, Path, Query};
use weir_framework::page::Page;
use weir_framework::time::time;

/// Prices of one import: as many as fit the body of a request.
pub const PRICES_MAX: usize = 1_000;

/// Which prices.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct Wanted {
    /// A day of UTC; today unless said.
    #[serde(default)]
    #[param(value_type = Option<PlainDateText>, inline)]
    on: Option<String>,
    /// A model, by its id, an inference profile or an ARN: what submissions of it are counted at, or nothing.
    #[serde(default)]
    #[param(value_type = Option<ModelText>, inline)]
    model: Option<String>,
    /// The region of its calls.
    #[serde(default)]
    #[param(value_type = Option<RegionText>, inline)]
    region: Option<String>,
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
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewPrices {
    /// The first day of UTC on which they hold; today unless said, and not a past one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<PlainDateText>)]
    pub from: Option<String>,
    /// The prices; each model's stand in one part.
    #[schema(min_items = 1, max_items = 1_000)]
    pub prices: Vec<NewPrice>,
    /// The import that this is another part of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<WordText>)]
    pub import: Option<String>,
    /// Whether another part follows: until the last one is there, within an hour, nothing of the import has an effect.
    #[serde(default)]
    #[schema(default = false)]
    pub more: bool,
}

/// An import of prices.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct Imported {
    /// Its id; later ones sort behind earlier ones.
    pub id: String,
    /// Of how many models it has prices.
    pub models: u64,
    /// The first day on which they hold.
    #[schema(format = Date)]
    pub from: String,
    /// Who imported it.
    pub by: String,
    /// When it was begun.
    #[schema(format = DateTime)]
    pub imported_at: String,
    /// Whether more is to come: until then it has no effect.
    pub open: bool,
}

impl From<Import> for Imported {
    fn from(import: Import) -> Imported {
        Imported {
            id: import.id.to_string(),
            models: import.models,
            from: import.from.to_string(),
            by: import.by,
            imported_at: time(import.at_epoch.saturating_mul(1000)),
            open: import.is_open,
        }
    }
}

/// An import in a path.
#[derive(Debug, IntoParams)]
#[into_params(parameter_in = Path)]
#[expect(dead_code, reason = "described here, read by the handler")]
pub(crate) struct ImportAt {
    /// The import.
    #[param(value_type = WordText, inline)]
    id: String,
}

fn today(app: &App) -> OrgDay {
    Zone::utc().day_of(i64::try_from(app.now_ms()).unwrap_or(i64::MAX))
}

/// Lists what models cost on a day
///
/// All prices are in one answer. Those of labels, which hold where nothing else is known, are in the configuration.
#[utoipa::path(get, path = "/api/v1/prices", tag = "prices", params(Wanted),
    responses((status = 200, body = Page<ModelPrice>)))]
pub(crate) async fn list(
    State(app): State<App>,
    Query(asked): Query<Wanted>,
) -> Reply<Page<ModelPrice>> {
    let on = asked.on.map_or_else(|| Ok(today(&app)), |on| on.parse())?;
    let listed = match (asked.model, asked.region) {
        (Some(model), region) => one(&app, &model, region, on).await?.into_iter().collect(),
        (None, Some(_)) => {
            return Err(ApiError::invalid("region", "is of a model; name one").into());
        }
        (None, None) => keeper(&app)?.prices(on).await?,
    };
    Ok(Json(Page { items: listed.into_iter().map(ModelPrice::from).collect(), next_cursor: None }))
}

/// What a submission is counted at.
async fn one(
    app: &App,
    model: &str,
    region: Option<String>,
    on: OrgDay,
) -> Result<Option<ListedPrice>, KeeperError> {
    let (model_id, at_ms) = (ModelId::new(model)?, Zone::utc().first_instant(on));
    let found = keeper(app)?.price(&model_id, None, region.as_deref(), at_ms).await?;
    Ok(found.map(|priced| ListedPrice {
        row: PriceRow { model_id, region: region.map(Into::into), price: priced.price },
        source: priced.source,
        version: priced.version.clone(),
    }))
}

/// Imports what models cost from a day on
///
/// All of an import takes effect at once, also when it comes in parts. It holds until a later import, whatever is fetched. Past
/// totals stay as they are.
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
        return Err(ApiError::invalid("prices", problem).into());
    }
    let rows = new.prices.into_iter().map(PriceRow::try_from);
    let rows = rows.collect::<weir_keeper::Result<Vec<_>>>()?;
    let keeper = keeper(&app)?;
    let from = new.from.map(|from| from.parse()).transpose()?;
    let import = match (new.import, new.more) {
        (None, false) => {
            keeper.import_prices(rows, from.unwrap_or(today(&app)), asker.name()).await?
        }
        (None, true) => {
            let begun = keeper.begin_import(from.unwrap_or(today(&app)), asker.name()).await?;
            keeper.add_to_import(&begun.id, rows).await?
        }
        (Some(_), _) if from.is_some() => {
            return Err(ApiError::invalid("from", "was said with the first part").into());
        }
        (Some(id), more) => {
            let id = EventId::new(id)?;
            let added = keeper.add_to_import(&id, rows).await?;
            if more { added } else { keeper.close_import(&id).await? }
        }
    };
    Ok(Json(import.into()))
}

/// Lists the imports of prices, the newest first
#[utoipa::path(get, path = "/api/v1/prices/imports", tag = "prices",
    responses((status = 200, body = Page<Imported>)))]
pub(crate) async fn imports(State(app): State<App>) -> Reply<Page<Imported>> {
    let all = keeper(&app)?.imports().await?;
    Ok(Json(Page { items: all.into_iter().map(Imported::from).collect(), next_cursor: None }))
}

/// Removes an import of prices
///
/// What held before it holds again, all at once. Past totals stay as they are.
#[utoipa::path(delete, path = "/api/v1/prices/imports/{id}", tag = "prices", params(ImportAt),
    responses((status = 204)))]
pub(crate) async fn remove_import(
    State(app): State<App>,
    Path(id): Path<String>,
) -> Result<StatusCode, KeeperError> {
    keeper(&app)?.remove_import(&EventId::new(id)?).await?;
    Ok(StatusCode::NO_CONTENT)
}
