//! Tokens of clients: issued, refreshed and revoked with OAuth 2.0 (RFC 6749 client credentials, RFC 7009), in JSON or as a
//! form.

mod form;
mod issue;
mod revoke;

use utoipa_axum::routes;

use weir_framework::api::Api;
use weir_framework::required_scope::RequiredScope;

/// Declares the routes.
pub(super) fn declare(api: Api) -> Api {
    let secret = RequiredScope::Public(
        "the client's secret is the credential, and is checked by the handler",
    );
    let token = RequiredScope::Public(
        "the token in the body is the credential, and is checked by the handler",
    );
    api.route(secret, routes!(issue::token))
        .route(token, routes!(issue::refresh))
        .route(token, routes!(revoke::revoke))
}
