//! Routes of model prices: the operator lists and imports them.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use weir_api::keeper::{
    ModelPrice, PRICES_MAX, PriceImport, PriceImportParam, PriceImportRequest, PriceParams,
};
use weir_calendar::Zone;
use weir_keeper::day::{OrgDay, parse_day};
use weir_keeper::ids::{EventId, ModelId, Vendor};
use weir_keeper::prices::{ListedPrice, PriceQuery, PriceRow};

use super::convert;
use super::error::{KeeperError, Reply};
use super::path::keeper;
use super::rates::allowances;
use weir_framework::actor::Actor;
use weir_framework::app::App;
use weir_framework::error::ApiError;
use weir_framework::extract::{Body, Path, Query};
use weir_framework::page::Page;

fn today(app: &App) -> OrgDay {
    Zone::utc().day_of(i64::try_from(app.now_ms()).unwrap_or(i64::MAX))
}

/// Lists the prices of models on a day
///
/// The response has all prices. It does not have the prices of labels, which the configuration sets and which apply when no
/// other price is known.
#[utoipa::path(get, path = "/api/v1/prices", tag = "prices", params(PriceParams),
    responses((status = 200, body = Page<ModelPrice>)))]
pub(crate) async fn list(
    State(app): State<App>,
    Query(params): Query<PriceParams>,
) -> Reply<Page<ModelPrice>> {
    let on = params.on.map_or_else(|| Ok(today(&app)), |on| parse_day(&on))?;
    let mut listed: Vec<ListedPrice> = match (params.model, params.region, params.vendor) {
        (Some(model), region, vendor) => {
            one(&app, &model, region, vendor, on).await?.into_iter().collect()
        }
        (None, Some(_), _) => {
            return Err(ApiError::invalid("region", "requires `model`").into());
        }
        (None, None, Some(_)) => {
            return Err(ApiError::invalid("vendor", "requires `model`; use `search`").into());
        }
        (None, None, None) => keeper(&app)?.list_prices(on).await?,
    };
    if let Some(part) = &params.search {
        let wrong =
            |_| ApiError::invalid("search", "must be part of a vendor's name or a model id");
        ModelId::new(part).map_err(wrong)?;
        listed.retain(|listed| listed.row.matches(part));
    }
    let items = listed.into_iter().map(convert::model_price).collect();
    Ok(Json(Page { items, next_cursor: None }))
}

/// The price at which submissions of a model are recorded.
async fn one(
    app: &App,
    model: &str,
    region: Option<String>,
    vendor: Option<String>,
    on: OrgDay,
) -> Result<Option<ListedPrice>, KeeperError> {
    let (model_id, at_ms) = (ModelId::new(model)?, Zone::utc().first_instant(on));
    let vendor = vendor.map(Vendor::new).transpose()?;
    let query = PriceQuery {
        vendor: vendor.as_ref(),
        region: region.as_deref(),
        ..PriceQuery::new(&model_id)
    };
    let found = keeper(app)?.price(&query, at_ms).await?;
    Ok(found.map(|priced| ListedPrice {
        row: PriceRow {
            model_id,
            vendor: priced.vendor.clone(),
            region: region.map(Into::into),
            price: priced.price,
        },
        source: priced.source,
        version: priced.version.clone(),
    }))
}

/// Imports prices of models
///
/// All parts of an import take effect at once. Imported prices stay in force until a later import, and take precedence over
/// downloaded ones. Past totals do not change.
#[utoipa::path(post, path = "/api/v1/prices", tag = "prices", request_body = PriceImportRequest,
    responses((status = 200, body = PriceImport)))]
pub(crate) async fn import(
    State(app): State<App>,
    actor: Actor,
    Body(request): Body<PriceImportRequest>,
) -> Reply<PriceImport> {
    allowances(&app)?.write(&app, &actor).await?;
    let count = request.prices.len();
    if !(1..=PRICES_MAX).contains(&count) {
        let problem = format!("are {count}; a request has 1 to {PRICES_MAX}");
        return Err(ApiError::invalid("prices", problem).into());
    }
    let rows = request.prices.into_iter().map(convert::price_row);
    let rows = rows.collect::<weir_keeper::Result<Vec<_>>>()?;
    let keeper = keeper(&app)?;
    let from = request.from.map(|from| parse_day(&from)).transpose()?;
    let import = match (request.import, request.more) {
        (None, false) => {
            keeper.import_prices(rows, from.unwrap_or(today(&app)), actor.name()).await?
        }
        (None, true) => {
            let begun = keeper.begin_import(from.unwrap_or(today(&app)), actor.name()).await?;
            keeper.add_to_import(&begun.id, rows).await?
        }
        (Some(_), _) if from.is_some() => {
            return Err(ApiError::invalid("from", "is only allowed in the first part").into());
        }
        (Some(id), more) => {
            let id = EventId::new(id)?;
            let added = keeper.add_to_import(&id, rows).await?;
            if more { added } else { keeper.close_import(&id).await? }
        }
    };
    Ok(Json(convert::price_import(import)))
}

/// Lists imports of prices, newest first
#[utoipa::path(get, path = "/api/v1/prices/imports", tag = "prices",
    responses((status = 200, body = Page<PriceImport>)))]
pub(crate) async fn imports(State(app): State<App>) -> Reply<Page<PriceImport>> {
    let all = keeper(&app)?.list_imports().await?;
    let items = all.into_iter().map(convert::price_import).collect();
    Ok(Json(Page { items, next_cursor: None }))
}

/// Removes an import of prices
///
/// The prices before the import are in force again at once. Past totals do not change.
#[utoipa::path(delete, path = "/api/v1/prices/imports/{id}", tag = "prices",
    params(PriceImportParam), responses((status = 204)))]
pub(crate) async fn remove_import(
    State(app): State<App>,
    Path(id): Path<String>,
) -> Result<StatusCode, KeeperError> {
    keeper(&app)?.remove_import(&EventId::new(id)?).await?;
    Ok(StatusCode::NO_CONTENT)
}
