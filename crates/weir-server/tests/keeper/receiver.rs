//! A webhook that records the notices that it receives.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::body::Bytes;
use axum::http::{HeaderMap, StatusCode, header};
use parking_lot::Mutex;

/// A received notice.
#[derive(Debug, Clone)]
pub(crate) struct Notice {
    pub(crate) headers: HeaderMap,
    pub(crate) body: String,
}

/// A listening webhook.
#[derive(Debug, Clone)]
pub(crate) struct Receiver {
    pub(crate) address: SocketAddr,
    notices: Arc<Mutex<Vec<Notice>>>,
    status: Arc<Mutex<StatusCode>>,
}

impl Receiver {
    pub(crate) async fn start() -> Receiver {
        let notices: Arc<Mutex<Vec<Notice>>> = Arc::default();
        let status = Arc::new(Mutex::new(StatusCode::OK));
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (kept, answer) = (Arc::clone(&notices), Arc::clone(&status));
        let take = move |headers: HeaderMap, body: Bytes| {
            let body = String::from_utf8(body.to_vec()).unwrap();
            kept.lock().push(Notice { headers, body });
            let status = *answer.lock();
            std::future::ready((status, [(header::LOCATION, "/elsewhere")], "thanks"))
        };
        let router: Router = Router::new().fallback(take);
        tokio::spawn(serve(listener, router));
        Receiver { address, notices, status }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/hook?from=weir", self.address)
    }

    /// Sets the status of later responses.
    pub(crate) fn answer(&self, status: StatusCode) {
        *self.status.lock() = status;
    }

    /// The notices since the last call.
    pub(crate) fn take(&self) -> Vec<Notice> {
        std::mem::take(&mut self.notices.lock())
    }
}

pub(crate) async fn serve(listener: tokio::net::TcpListener, router: Router) {
    use hyper_util::rt::TokioIo;
    use tower_service::Service as _;
    while let Ok((stream, _)) = listener.accept().await {
        let router = router.clone();
        let service = hyper::service::service_fn(move |request: hyper::Request<_>| {
            router.clone().call(request.map(axum::body::Body::new))
        });
        let http = hyper::server::conn::http1::Builder::new();
        tokio::spawn(http.serve_connection(TokioIo::new(stream), service));
    }
}
