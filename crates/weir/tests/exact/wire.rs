//! One connection to a server, kept open from request to request.

use std::time::Duration;

use axum::body::Bytes;
use axum::http::{Method, Request, header};
use http_body_util::{BodyExt as _, Full};
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::TcpStream;

use crate::instance::ADMIN_KEY;

/// How long an answer is waited for. Nobody is that slow: it keeps a test from hanging.
const ANSWER_WITHIN: Duration = Duration::from_secs(60);

/// A connection.
pub(crate) struct Wire {
    sender: SendRequest<Full<Bytes>>,
}

/// What became of a request.
#[derive(Debug)]
pub(crate) enum Answer {
    /// It was answered: the status and the body.
    Response(u16, Value),
    /// It never left.
    Unsent,
    /// It left, and no answer came: it may have been done or not.
    Lost,
}

impl Wire {
    /// A connection to `address`, if somebody listens there.
    pub(crate) async fn connect(address: &str) -> Option<Wire> {
        let stream = TcpStream::connect(address).await.ok()?;
        stream.set_nodelay(true).ok()?;
        let (sender, connection) = handshake(TokioIo::new(stream)).await.ok()?;
        tokio::spawn(connection);
        Some(Wire { sender })
    }

    /// Asks something of the namespace `default`.
    pub(crate) async fn ask(
        &mut self,
        method: Method,
        tail: &str,
        key: Option<&str>,
        body: Option<&Value>,
    ) -> Answer {
        self.call(method, &format!("/v1/namespaces/default/{tail}"), key, body).await
    }

    /// Asks something. A connection that did not answer is of no more use.
    pub(crate) async fn call(
        &mut self,
        method: Method,
        path: &str,
        key: Option<&str>,
        body: Option<&Value>,
    ) -> Answer {
        let mut request = Request::builder()
            .method(method)
            .uri(path)
            .header(header::HOST, "weir.test")
            .header("x-api-key", ADMIN_KEY);
        if let Some(key) = key {
            request = request.header("idempotency-key", key);
        }
        if body.is_some() {
            request = request.header(header::CONTENT_TYPE, "application/json");
        }
        let body = body.map(|body| serde_json::to_vec(body).unwrap()).unwrap_or_default();
        let request = request.body(Full::new(Bytes::from(body))).unwrap();
        if self.sender.ready().await.is_err() {
            return Answer::Unsent;
        }
        tokio::time::timeout(ANSWER_WITHIN, self.exchange(request)).await.unwrap_or(Answer::Lost)
    }

    async fn exchange(&mut self, request: Request<Full<Bytes>>) -> Answer {
        let answer = match self.sender.send_request(request).await {
            Ok(answer) => answer,
            Err(error) if error.is_canceled() => return Answer::Unsent,
            Err(_) => return Answer::Lost,
        };
        let status = answer.status().as_u16();
        match answer.into_body().collect().await {
            Ok(body) => Answer::Response(
                status,
                serde_json::from_slice(&body.to_bytes()).unwrap_or_default(),
            ),
            Err(_) => Answer::Lost,
        }
    }
}
