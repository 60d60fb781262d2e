//! A connection to one of the servers that outlives kills.

use std::path::PathBuf;

use axum::http::Method;
use serde_json::Value;
use weir_api::page::Page;

use crate::client::pause;
use crate::wire::{Answer, Wire};

/// How often a request is sent until it is answered: servers that were killed take a while to come back.
const TRIES_MAX: u32 = 20_000;
/// A connection to any of the servers.
pub(crate) struct Client {
    address_files: Vec<PathBuf>,
    server_index: usize,
    wire: Option<Wire>,
    pub(crate) retries: u64,
}

impl Client {
    pub(crate) fn new(address_files: &[PathBuf], server_index: usize) -> Client {
        Client {
            address_files: address_files.to_vec(),
            server_index: server_index % address_files.len(),
            wire: None,
            retries: 0,
        }
    }

    /// Sends a request until it is answered, each time with a body made anew. Returns whether it was sent before, too.
    pub(crate) async fn send(
        &mut self,
        method: Method,
        path: &str,
        body: impl Fn() -> Option<Value>,
    ) -> (u16, Value, bool) {
        for attempt in 0..TRIES_MAX {
            match self.try_send(method.clone(), path, body().as_ref()).await {
                Answer::Response(503, _) => {}
                Answer::Response(status, response) => return (status, response, attempt > 0),
                Answer::Lost | Answer::Unsent => {
                    self.wire = None;
                    self.server_index = (self.server_index + 1) % self.address_files.len();
                }
            }
            self.retries += 1;
            pause().await;
        }
        panic!("{path} was never answered");
    }

    async fn try_send(&mut self, method: Method, path: &str, body: Option<&Value>) -> Answer {
        if self.wire.is_none() {
            let address = std::fs::read_to_string(&self.address_files[self.server_index]).unwrap();
            self.wire = Wire::connect(&address).await;
        }
        match &mut self.wire {
            Some(wire) => wire.call(method, path, None, body).await,
            None => Answer::Unsent,
        }
    }

    pub(crate) async fn get(&mut self, path: &str) -> (u16, Value) {
        let (status, response, _) = self.send(Method::GET, path, || None).await;
        (status, response)
    }

    /// All entries of a list.
    pub(crate) async fn list<T: serde::de::DeserializeOwned>(&mut self, path: &str) -> Vec<T> {
        let (mut all, mut cursor) = (Vec::new(), String::new());
        let separator = if path.contains('?') { '&' } else { '?' };
        loop {
            let (status, page) = self.get(&format!("{path}{separator}limit=100{cursor}")).await;
            assert_eq!(status, 200, "{path}: {page}");
            let page: Page<T> = serde_json::from_value(page).unwrap();
            all.extend(page.items);
            match page.next_cursor {
                Some(next) => cursor = format!("&cursor={next}"),
                None => return all,
            }
        }
    }
}
