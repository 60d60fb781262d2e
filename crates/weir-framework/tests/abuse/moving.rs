//! Clients that move from one processor to another: their connections are handed from thread to thread, and nothing is
//! lost of what they send.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Barrier, Mutex};
use std::time::Duration;

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use weir_framework::listen::Settings;

use crate::site::{Site, WAIT_MAX};

/// Connections of a thread: as many as two can have together with one thread of the site.
const EACH: usize = 4;

/// Two processors that threads of this process may run on, if the system tells where packets arrive.
fn processors() -> Option<[usize; 2]> {
    let allowed = sched_getaffinity(None).unwrap();
    let mut allowed = (0..CpuSet::MAX_CPU).filter(|number| allowed.is_set(*number));
    let both = [allowed.next()?, allowed.next()?];
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let tells = both.iter().all(|number| {
        stay_on(*number);
        let _client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (accepted, _) = listener.accept().unwrap();
        let told = rustix::net::sockopt::socket_incoming_cpu(&accepted);
        told.is_ok_and(|told| usize::try_from(told) == Ok(*number))
    });
    tells.then_some(both)
}

/// Keeps this thread on one processor.
fn stay_on(number: usize) {
    let mut one = CpuSet::new();
    one.set(number);
    sched_setaffinity(None, &one).unwrap();
}

struct Client {
    stream: TcpStream,
    /// Whether the beginning of a request was sent.
    has_begun: bool,
}

impl Client {
    fn connect(address: SocketAddr) -> Client {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_nodelay(true).unwrap();
        stream.set_read_timeout(Some(WAIT_MAX)).unwrap();
        Client { stream, has_begun: false }
    }

    fn send(&mut self, bytes: &str) {
        self.stream.write_all(bytes.as_bytes()).unwrap();
    }

    /// The body of the next answer.
    fn answer(&mut self) -> String {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            self.stream.read_exact(&mut byte).unwrap();
            head.extend(byte);
        }
        let head = String::from_utf8(head).unwrap();
        assert!(head.starts_with("HTTP/1.1 200 OK\r\n"), "{head}");
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
        let mut body = vec![0; length.unwrap().parse().unwrap()];
        self.stream.read_exact(&mut body).unwrap();
        String::from_utf8(body).unwrap()
    }

    /// The thread that answers now.
    fn thread(&mut self) -> String {
        self.send(&get("/thread"));
        self.answer()
    }
}

fn get(path: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nHost: x\r\n\r\n")
}

/// Runs clients against a site with two threads; does nothing where the system does not tell where packets arrive.
async fn with_two(clients: impl FnOnce([usize; 2], SocketAddr) + Send + 'static) {
    let mut site = Site::open(Settings { threads: 2, ..Settings::default() }).await;
    let address = site.address();
    let run = move || match processors() {
        Some(both) => clients(both, address),
        None => eprintln!("skipped: it takes two processors that packets are told to arrive on"),
    };
    // A thread of its own, which is kept on one processor or the other.
    let run = std::thread::spawn(run);
    tokio::task::spawn_blocking(move || run.join().unwrap()).await.unwrap();
    site.serves().await;
    site.tell_to_stop();
    site.stopped().await;
}

/// Two threads connect from one processor; then one of them goes to the other, and both ask until each has a thread of the
/// site for itself. `ask` asks over one connection for the thread that answers.
fn come_apart([first, second]: [usize; 2], address: SocketAddr, ask: fn(&mut Client) -> String) {
    let answers: [_; 2] = std::array::from_fn(|_| Arc::new(Mutex::new(Vec::new())));
    let (all_connected, done) = (Arc::new(Barrier::new(2)), Arc::new(AtomicBool::new(false)));
    let threads = [(first, 0), (second, 1)].map(|(goes_to, which): (usize, usize)| {
        let (all_connected, done) = (Arc::clone(&all_connected), Arc::clone(&done));
        let answered = Arc::clone(&answers[which]);
        std::thread::spawn(move || {
            stay_on(first);
            let mut clients: Vec<Client> = (0..EACH).map(|_| Client::connect(address)).collect();
            all_connected.wait();
            stay_on(goes_to);
            while !done.load(Ordering::Relaxed) {
                let threads: Vec<String> = clients.iter_mut().map(ask).collect();
                *answered.lock().unwrap() = threads;
            }
        })
    });
    let are_apart = || {
        let [one, other] = answers.each_ref().map(|answers| answers.lock().unwrap().clone());
        let (Some(first), Some(second)) = (one.first(), other.first()) else { return false };
        one.iter().all(|t| t == first) && other.iter().all(|t| t == second) && first != second
    };
    let deadline = std::time::Instant::now() + WAIT_MAX;
    while !are_apart() && std::time::Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(5));
    }
    let are_apart = are_apart();
    done.store(true, Ordering::Relaxed);
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    assert!(are_apart, "{answers:?}");
}

#[tokio::test]
async fn connections_of_a_client_come_together() {
    with_two(|both, address| come_apart(both, address, Client::thread)).await;
}

#[tokio::test]
async fn a_request_that_has_begun_goes_along() {
    with_two(|both, address| {
        come_apart(both, address, |client| {
            // Every piece that is sent ends in the middle of a head.
            let next = get("/thread");
            let (begin, end) = next.split_at(20);
            if !std::mem::replace(&mut client.has_begun, true) {
                client.send(begin);
            }
            client.send(&format!("{end}{begin}"));
            client.answer()
        });
    })
    .await;
}

#[tokio::test]
async fn nothing_is_lost_of_clients_that_move_about() {
    const CLIENTS: usize = 12;
    const ROUNDS: usize = 1_200;
    with_two(|both, address| {
        let client = move |number: usize| {
            let mut client = Client::connect(address);
            for round in 0..ROUNDS {
                if round % 30 == 0 {
                    stay_on(both[(round / 30 + number) % 2]);
                }
                let body = "x".repeat((round * 37 + number) % 3_000);
                let length = body.len();
                let head =
                    format!("POST /count HTTP/1.1\r\nHost: x\r\nContent-Length: {length}\r\n\r\n");
                client.send(&format!("{head}{body}{head}{body}"));
                assert_eq!(
                    [client.answer(), client.answer()],
                    [length, length].map(|n| n.to_string())
                );
            }
        };
        let clients: Vec<_> =
            (0..CLIENTS).map(|number| std::thread::spawn(move || client(number))).collect();
        clients.into_iter().for_each(|client| client.join().unwrap());
    })
    .await;
}
