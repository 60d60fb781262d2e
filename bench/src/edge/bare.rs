//! The smallest axum server: one route, and no state, authentication or logging.

use axum::Router;
use axum::routing::get;

use crate::child::{Child, LISTENING};
use crate::compare::Case;
use crate::load::Request;
use crate::pinning::Pinning;

/// The only case of this server.
pub(super) const CASE: &str = "hello";

/// Starts this program as the bare server.
pub(super) fn start(pinning: Pinning) -> (Child, Vec<Case>) {
    let program = std::env::current_exe().expect("this program");
    let server = Child::start(pinning.server(program).arg("bare-server"));
    let hello = Request { method: "GET", url: server.origin.clone(), ..Request::default() };
    (server, vec![Case::http(CASE, hello)])
}

/// Serves until the process is killed.
pub(crate) fn serve() {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("tokio");
    runtime.block_on(async {
        let routes = Router::new().route("/", get(|| async { "Hello, World!" }));
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
        println!("{LISTENING}http://{}", listener.local_addr().expect("an address"));
        axum::serve(listener, routes).await.expect("served");
    });
}
