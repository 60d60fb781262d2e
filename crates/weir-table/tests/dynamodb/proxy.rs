//! A server between the back-end and DynamoDB Local that misbehaves as it is told.
//!
//! Table care passes through. Each other request takes the next reaction of the script and, when
//! there is none left, passes through too. What was asked is kept.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use serde_json::Value as Json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

/// What becomes of a request.
#[derive(Debug, Clone)]
pub(crate) enum Reaction {
    /// It is carried out and answered.
    Pass,
    /// It is carried out, and the answer is lost with the connection.
    LoseAnswer,
    /// It is carried out, and never answered.
    Hang,
    /// The connection is closed, nothing is carried out.
    LoseRequest,
    /// It is not carried out; this status and error code are the answer.
    Refuse(u16, &'static str),
    /// It is not carried out; this is the answer.
    Answer(u16, String),
}

#[derive(Debug, Default)]
struct State {
    script: VecDeque<Reaction>,
    seen: Vec<(String, Json)>,
}

/// The server; it ends with the runtime of its test.
#[derive(Debug, Clone)]
pub(crate) struct Proxy {
    pub(crate) endpoint: String,
    state: Arc<Mutex<State>>,
}

impl Proxy {
    pub(crate) async fn start() -> Proxy {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let proxy = Proxy {
            endpoint: format!("http://{}", listener.local_addr().unwrap()),
            state: Arc::default(),
        };
        let serving = proxy.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let proxy = serving.clone();
                tokio::spawn(async move { proxy.serve(stream).await });
            }
        });
        proxy
    }

    /// What becomes of the next requests.
    pub(crate) fn script(&self, reactions: impl IntoIterator<Item = Reaction>) {
        let mut state = self.state.lock().unwrap();
        state.script = reactions.into_iter().collect();
        state.seen.clear();
    }

    /// The operations that were asked for since the script was set, and their bodies.
    pub(crate) fn seen(&self) -> Vec<(String, Json)> {
        self.state.lock().unwrap().seen.clone()
    }

    async fn serve(&self, mut stream: TcpStream) {
        while let Some((head, body)) = read_request(&mut stream).await {
            let operation = operation(&head);
            let reaction = self.reaction(&operation, &body);
            let forwarded = matches!(reaction, Reaction::Pass);
            let answer = match reaction {
                Reaction::LoseRequest => return,
                Reaction::Refuse(status, code) => {
                    let body = format!("{{\"__type\":\"x#{code}\",\"message\":\"scripted\"}}");
                    http(status, &body)
                }
                Reaction::Answer(status, body) => http(status, &body),
                Reaction::Pass => forward(&head, &body).await,
                Reaction::LoseAnswer => {
                    forward(&head, &body).await;
                    return;
                }
                Reaction::Hang => {
                    forward(&head, &body).await;
                    std::future::pending::<()>().await;
                    return;
                }
            };
            // A forwarded answer says that its connection ends.
            if stream.write_all(&answer).await.is_err() || forwarded {
                return;
            }
        }
    }

    fn reaction(&self, operation: &str, body: &[u8]) -> Reaction {
        let care = ["DescribeTable", "DescribeTimeToLive", "CreateTable"];
        if care.contains(&operation) {
            return Reaction::Pass;
        }
        let body = serde_json::from_slice(body).unwrap();
        let mut state = self.state.lock().unwrap();
        state.seen.push((operation.to_owned(), body));
        state.script.pop_front().unwrap_or(Reaction::Pass)
    }
}

async fn read_request(stream: &mut TcpStream) -> Option<(String, Vec<u8>)> {
    let mut bytes = Vec::new();
    let mut buffer = [0; 16 * 1024];
    loop {
        if let Some(end) = find(&bytes, b"\r\n\r\n") {
            let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
            let length = header(&head, "content-length")?.parse::<usize>().ok()?;
            if bytes.len() >= end + 4 + length {
                return Some((head, bytes[end + 4..end + 4 + length].to_vec()));
            }
        }
        match stream.read(&mut buffer).await {
            Ok(0) | Err(_) => return None,
            Ok(read) => bytes.extend_from_slice(&buffer[..read]),
        }
    }
}

fn find(bytes: &[u8], part: &[u8]) -> Option<usize> {
    bytes.windows(part.len()).position(|window| window == part)
}

fn header<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    head.lines().find_map(|line| {
        let (found, value) = line.split_once(':')?;
        found.eq_ignore_ascii_case(name).then_some(value.trim())
    })
}

fn operation(head: &str) -> String {
    let target = header(head, "x-amz-target").unwrap_or_default();
    target.rsplit('.').next().unwrap_or_default().to_owned()
}

fn http(status: u16, body: &str) -> Vec<u8> {
    format!(
        "HTTP/1.1 {status} Scripted\r\nContent-Type: application/x-amz-json-1.0\r\n\
         Content-Length: {}\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}

/// Asks DynamoDB Local and returns the bytes of its answer.
async fn forward(head: &str, body: &[u8]) -> Vec<u8> {
    let local = weir_testkit::dynamo_local_endpoint().unwrap();
    let address = local.strip_prefix("http://").unwrap();
    let mut stream = TcpStream::connect(address).await.unwrap();
    let kept = head.lines().filter(|line| !line.to_ascii_lowercase().starts_with("connection:"));
    let head: String = kept.map(|line| format!("{line}\r\n")).collect();
    let head = format!("{head}Connection: close\r\n\r\n");
    stream.write_all(head.as_bytes()).await.unwrap();
    stream.write_all(body).await.unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.unwrap();
    answer
}
