//! OpenAPI links from the response that creates a resource to the routes that take its id.
//!
//! They follow from the names of the routes: `POST things` returns 201 with an `id`, and `things/{id}` is the
//! created resource.

use utoipa::openapi::link::{Link, LinkBuilder};
use utoipa::openapi::{OpenApi, RefOr};

use crate::description::operations;

/// Links the operation that creates a resource to the operations on it.
pub(crate) fn connect(description: &mut OpenApi) {
    for (collection, id) in things(description) {
        let item = description.paths.paths.get_mut(&collection);
        let maker = item.and_then(|item| item.post.as_mut());
        let made = maker.and_then(|maker| maker.responses.responses.get_mut("201"));
        if let Some(RefOr::T(made)) = made {
            let link = link(&collection, &id);
            made.links.insert(id, link.into());
        }
    }
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

/// The link to operation `id` on the resource created at `path`.
fn link(path: &str, id: &str) -> Link {
    let names = path.split('{').skip(1);
    let names = names.filter_map(|part| Some(part.split_once('}')?.0));
    let link = LinkBuilder::new().operation_id(id).parameter("id", "$response.body#/id");
    names.fold(link, |link, name| link.parameter(name, format!("$request.path.{name}"))).build()
}
