//! OpenAPI links from the response that creates a resource to the routes that take its id.
//!
//! They follow from the names of the routes: `POST things` returns 201 with an `id` or a `thing_id`, and `things/{id}` is
//! the created resource.

use utoipa::openapi::link::{Link, LinkBuilder};
use utoipa::openapi::{Components, OpenApi, RefOr, Response};

use crate::description::operations;

/// Links the operation that creates a resource to the operations on it.
pub(crate) fn connect(description: &mut OpenApi) {
    let components = description.components.take().unwrap_or_default();
    for (collection, operation_id) in things(description) {
        let item = description.paths.paths.get_mut(&collection);
        let maker = item.and_then(|item| item.post.as_mut());
        let made = maker.and_then(|maker| maker.responses.responses.get_mut("201"));
        if let Some(RefOr::T(made)) = made
            && let Some(field) = id_field(&collection, made, &components)
        {
            let link = link(&collection, &operation_id, &field);
            made.links.insert(operation_id, link.into());
        }
    }
    description.components = Some(components);
}

/// The field of a response with the id of what was created: `id`, or `review_id` of `/reviews`.
fn id_field(collection: &str, made: &Response, components: &Components) -> Option<String> {
    let RefOr::T(content) = made.content.get("application/json")? else { return None };
    let RefOr::Ref(schema) = content.schema.as_ref()? else { return None };
    let name = schema.ref_location.rsplit('/').next()?;
    let schema = serde_json::to_value(components.schemas.get(name)?).ok()?;
    let things = collection.rsplit('/').next()?;
    let long = format!("{}_id", things.strip_suffix('s').unwrap_or(things));
    let properties = schema.get("properties")?;
    ["id".to_owned(), long].into_iter().find(|field| properties.get(field).is_some())
}

/// The operations on one resource: the path of the collection, and the operation's id.
fn things(description: &mut OpenApi) -> Vec<(String, String)> {
    let mut all = Vec::new();
    for (path, item) in &mut description.paths.paths {
        if let Some(collection) = path.strip_suffix("/{id}") {
            let ids = operations(item).filter_map(|(_, operation)| operation.operation_id.clone());
            all.extend(ids.map(|id| (collection.to_owned(), id)));
        }
    }
    all
}

/// The link to an operation on the resource created at `path`, whose id is in `field` of the response.
fn link(path: &str, operation_id: &str, field: &str) -> Link {
    let names = path.split('{').skip(1);
    let names = names.filter_map(|part| Some(part.split_once('}')?.0));
    let link = LinkBuilder::new()
        .operation_id(operation_id)
        .parameter("id", format!("$response.body#/{field}"));
    names.fold(link, |link, name| link.parameter(name, format!("$request.path.{name}"))).build()
}
