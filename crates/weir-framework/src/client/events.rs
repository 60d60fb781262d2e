//! Server-sent events, as a client reads them.
//!
//! A stream ends when the server stops or has sent for long enough; a client that wants more sends the id of its last event
//! as `Last-Event-ID`.

use axum::body::Body;
use http_body_util::BodyExt as _;
use weir_table::Error;

/// Largest event in bytes.
const EVENT_MAX: usize = 1024 * 1024;

/// An event of a stream.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ServerEvent {
    /// Name of the event; empty if the server gives it none.
    pub name: String,
    /// Id of the event.
    pub id: Option<String>,
    /// Content of the event.
    pub data: String,
}

/// A stream of events.
#[derive(Debug)]
pub struct ServerEvents {
    body: Body,
    parser: Parser,
}

impl ServerEvents {
    pub(super) fn new(body: Body) -> ServerEvents {
        ServerEvents { body, parser: Parser::default() }
    }

    /// The next event; `None` when the stream ends.
    ///
    /// # Errors
    /// The connection breaks, or the server sends something else than events.
    pub async fn next(&mut self) -> Result<Option<ServerEvent>, Error> {
        loop {
            if let Some(event) = self.parser.next() {
                return Ok(Some(event));
            }
            let Some(frame) = self.body.frame().await else { return Ok(None) };
            let frame = frame.map_err(|error| Error::backend("reading events", error))?;
            self.parser.push(&frame.into_data().unwrap_or_default())?;
        }
    }
}

/// Lines that have arrived, and the event that they are of.
#[derive(Debug, Default)]
struct Parser {
    waiting: Vec<u8>,
    event: ServerEvent,
    has_data: bool,
}

impl Parser {
    fn push(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.waiting.extend_from_slice(bytes);
        if self.waiting.len() + self.event.data.len() > EVENT_MAX {
            return Err(Error::Unavailable(format!("an event has more than {EVENT_MAX} bytes")));
        }
        Ok(())
    }

    /// The next event that has arrived as a whole.
    fn next(&mut self) -> Option<ServerEvent> {
        while let Some(end) = self.waiting.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.waiting.drain(..=end).collect();
            let line = String::from_utf8_lossy(&line);
            let line = line.trim_end_matches(['\n', '\r']);
            if !line.is_empty() {
                self.field(line);
                continue;
            }
            let event = std::mem::take(&mut self.event);
            if std::mem::take(&mut self.has_data) {
                return Some(event);
            }
        }
        None
    }

    /// A line is `NAME: VALUE`; one that begins with a colon is a comment, which keeps the connection open.
    fn field(&mut self, line: &str) {
        let (name, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match name {
            "event" => value.clone_into(&mut self.event.name),
            "id" => self.event.id = Some(value.to_owned()),
            "data" => {
                if self.has_data {
                    self.event.data.push('\n');
                }
                self.has_data = true;
                self.event.data.push_str(value);
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn events(pieces: &[&str]) -> Vec<ServerEvent> {
        let mut parser = Parser::default();
        let mut events = Vec::new();
        for piece in pieces {
            parser.push(piece.as_bytes()).unwrap();
            events.extend(std::iter::from_fn(|| parser.next()));
        }
        events
    }

    fn event(name: &str, id: Option<&str>, data: &str) -> ServerEvent {
        ServerEvent { name: name.into(), id: id.map(Into::into), data: data.into() }
    }

    #[test]
    fn events_are_read_in_any_pieces() {
        let text =
            "event: progress\nid: 7\ndata: {\"a\":1}\n\n: alive\n\ndata: x\r\ndata: y\r\n\r\n";
        let expected = [event("progress", Some("7"), "{\"a\":1}"), event("", None, "x\ny")];
        assert_eq!(events(&[text]), expected);
        let letters: Vec<String> = text.chars().map(String::from).collect();
        let letters: Vec<&str> = letters.iter().map(String::as_str).collect();
        assert_eq!(events(&letters), expected);
    }

    #[test]
    fn events_without_content_or_end_are_none() {
        assert_eq!(events(&["event: end\n\n", "id\n\n", "data: cut off\n"]), []);
        assert_eq!(events(&["data\n\n"]), [event("", None, "")]);
    }

    #[test]
    fn an_endless_event_is_refused() {
        assert!(Parser::default().push(&vec![b'x'; EVENT_MAX + 1]).is_err());
    }
}
