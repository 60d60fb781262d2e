//! A client of server-sent events on a plain socket.

use std::net::SocketAddr;

use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;
use weir_framework::testing::ADMIN_KEY;

/// A server-sent event.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Event {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) data: String,
}

/// An open stream of server-sent events.
#[derive(Debug)]
pub(crate) struct EventStream {
    reader: BufReader<TcpStream>,
    pub(crate) head: String,
}

impl EventStream {
    /// Sends a request for events after the one with this id. As HTTP/1.0, so that the body is not in chunks.
    pub(crate) async fn open(address: SocketAddr, path: &str, last: Option<&str>) -> EventStream {
        EventStream::send(address, path, "1.0", last).await
    }

    /// Sends the request in a version of HTTP.
    pub(crate) async fn send(
        address: SocketAddr,
        path: &str,
        version: &str,
        last: Option<&str>,
    ) -> EventStream {
        let last = last.map_or_else(String::new, |id| format!("Last-Event-ID: {id}\r\n"));
        let request = format!(
            "GET {path} HTTP/{version}\r\nHost: weir.test\r\nX-API-Key: {ADMIN_KEY}\r\n\
             Accept: text/event-stream\r\n{last}\r\n"
        );
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut reader = BufReader::new(stream);
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            assert!(reader.read_line(&mut head).await.unwrap() > 0, "{head}");
        }
        EventStream { reader, head: head.to_ascii_lowercase() }
    }

    /// The next event, without comments; `None` at the end.
    pub(crate) async fn next(&mut self) -> Option<Event> {
        let mut event = Event::default();
        loop {
            let mut line = String::new();
            if self.reader.read_line(&mut line).await.unwrap() == 0 {
                return None;
            }
            match line.trim_end().split_once(": ") {
                Some(("id", id)) => event.id = id.to_owned(),
                Some(("event", name)) => event.name = name.to_owned(),
                Some(("data", data)) => event.data = data.to_owned(),
                _ if event != Event::default() => return Some(event),
                _ => {}
            }
        }
    }

    /// Everything until the server closes the connection.
    pub(crate) async fn rest(mut self) -> String {
        let mut rest = String::new();
        self.reader.read_to_string(&mut rest).await.unwrap();
        rest
    }
}
