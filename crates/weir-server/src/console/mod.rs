//! The console: a page application at `/`, the sessions of the people who use it, and the routes that put the figures of
//! several services together for it.
//!
//! The pages use the public API only. A person signs in with the admin key or a token and gets a session, which works
//! wherever the credential did: `weir_framework::auth::session`.

mod assets;
mod codes;
mod figures;
mod live;
mod overview;
mod samples;
mod session;
mod settings;
mod stream_slots;

use axum::Router;
use utoipa_axum::routes;
use weir_api::console::ConfigEntry;
use weir_framework::Code;
use weir_framework::api::Api;
use weir_framework::app::{App, Opened, Opening, Service};
use weir_framework::required_scope::RequiredScope;

use self::figures::AllFigures;
use self::samples::Samples;
use self::session::SignIns;
use self::settings::InForce;
use self::stream_slots::StreamSlots;

/// The console as a service of the server. It limits sign-ins with the limiter, so the server must have that service too.
#[derive(Debug, Clone)]
pub struct ConsoleService {
    sign_in_rate: u64,
    config: Vec<ConfigEntry>,
}

impl ConsoleService {
    /// The console, with the number of failed sign-ins per minute that an address may have; 0 for any.
    #[must_use]
    pub fn new(sign_in_rate: u64) -> ConsoleService {
        ConsoleService { sign_in_rate, config: Vec::new() }
    }

    /// Sets the configuration that the console shows, with secrets as dots.
    #[must_use]
    pub fn config(self, config: Vec<ConfigEntry>) -> ConsoleService {
        ConsoleService { config, ..self }
    }
}

impl Service for ConsoleService {
    fn open<'a>(&'a self, _: &'a App) -> Opening<'a> {
        let opened = Opened::default()
            .keep(SignIns::new(self.sign_in_rate))
            .keep(AllFigures::default())
            .keep(StreamSlots::default())
            .keep(Samples::default())
            .keep(InForce(self.config.clone()));
        Box::pin(async move { Ok(opened) })
    }

    fn routes(&self, api: Api) -> Api {
        let credential =
            RequiredScope::Public("the credential is in the body, and is checked by the handler");
        api.route(credential, routes!(session::sign_in))
            .route(RequiredScope::Authenticated, routes!(session::get, session::sign_out))
            .route(RequiredScope::Authenticated, routes!(overview::overview))
            .route(RequiredScope::Authenticated, routes!(live::live))
            .route(RequiredScope::Admin, routes!(settings::list))
    }

    fn codes(&self) -> &'static [Code] {
        codes::ALL
    }

    fn pages(&self) -> Router<App> {
        assets::pages()
    }
}
