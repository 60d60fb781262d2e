//! The console: a page application at `/`, the sessions of the people who use it, and the routes that put the figures of
//! several services together for it.
//!
//! The pages use the public API only. A person signs in with the admin key or a token and gets a session, which works
//! wherever the credential did: `weir_framework::auth::session`.

mod assets;
mod session;

use axum::Router;
use utoipa_axum::routes;
use weir_framework::api::Api;
use weir_framework::app::{App, Opened, Opening, Service};
use weir_framework::required_scope::RequiredScope;

use self::session::SignIns;

/// The console as a service of the server. It limits sign-ins with the limiter, so the server must have that service too.
#[derive(Debug, Clone)]
pub struct ConsoleService {
    sign_in_rate: u64,
}

impl ConsoleService {
    /// The console, with the number of failed sign-ins per minute that an address may have; 0 for any.
    #[must_use]
    pub fn new(sign_in_rate: u64) -> ConsoleService {
        ConsoleService { sign_in_rate }
    }
}

impl Service for ConsoleService {
    fn open<'a>(&'a self, _: &'a App) -> Opening<'a> {
        Box::pin(async { Ok(Opened::default().keep(SignIns::new(self.sign_in_rate))) })
    }

    fn routes(&self, api: Api) -> Api {
        let credential =
            RequiredScope::Public("the credential is in the body, and is checked by the handler");
        api.route(credential, routes!(session::sign_in))
            .route(RequiredScope::Authenticated, routes!(session::get, session::sign_out))
    }

    fn pages(&self) -> Router<App> {
        assets::pages()
    }
}
