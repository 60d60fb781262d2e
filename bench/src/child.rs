//! A server in a process of its own.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::load::Request;

/// The start of the line that a server prints when it listens; the address follows.
pub(crate) const LISTENING: &str = "listening on ";
const START_TIMEOUT: Duration = Duration::from_secs(10);
const CONNECT_INTERVAL: Duration = Duration::from_millis(5);

/// A running server. It is killed when this is dropped.
pub(crate) struct Child {
    process: std::process::Child,
    /// `http://HOST:PORT`.
    pub(crate) origin: String,
    /// The time from the start of the process until it listened.
    pub(crate) startup: Duration,
}

impl Child {
    /// Starts a server and waits until it prints the address it listens on.
    pub(crate) fn start(command: &mut Command) -> Child {
        let begin = Instant::now();
        let mut process = command.stdout(Stdio::piped()).spawn().expect("the server starts");
        let stdout = process.stdout.take().expect("its stdout");
        let lines = BufReader::new(stdout).lines().map_while(Result::ok);
        let origin = lines.filter_map(|line| Some(line.strip_prefix(LISTENING)?.to_owned())).next();
        Child {
            process,
            origin: origin.unwrap_or_else(|| panic!("{command:?} ended without listening")),
            startup: begin.elapsed(),
        }
    }

    /// Starts a server that does not print its address, and waits until `port` accepts connections.
    pub(crate) fn start_on(command: &mut Command, port: u16) -> Child {
        let begin = Instant::now();
        let process = command
            .stdout(Stdio::null())
            .spawn()
            .unwrap_or_else(|error| panic!("{command:?}: {error}; run scripts/setup.sh bench"));
        let origin = format!("http://127.0.0.1:{port}");
        let mut child = Child { process, origin, startup: Duration::ZERO };
        while TcpStream::connect(child.host()).is_err() {
            assert!(begin.elapsed() < START_TIMEOUT, "{command:?} does not listen");
            std::thread::sleep(CONNECT_INTERVAL);
        }
        child.startup = begin.elapsed();
        child
    }

    /// Asks the server to shut down and waits until it has.
    pub(crate) fn stop(mut self) {
        kill_process(Pid::from_child(&self.process), Signal::TERM).expect("SIGTERM");
        self.process.wait().expect("the server ends");
    }

    /// Resident memory in MiB.
    pub(crate) fn resident_mib(&self) -> u64 {
        crate::measure::resident_mib_of(&self.process.id().to_string())
    }

    /// CPU time of all threads so far, in user and kernel mode.
    pub(crate) fn cpu_time(&self) -> Duration {
        crate::measure::cpu_time_of(&self.process.id().to_string())
    }

    /// Sends each body of a request once, so that a run creates no buckets and fills no caches.
    pub(crate) fn warm_up(&self, request: &Request) {
        if request.unique_ids {
            return;
        }
        let path = request.url.trim_start_matches(&self.origin);
        let empty = [String::new()];
        let bodies = if request.bodies.is_empty() { &empty } else { request.bodies.as_slice() };
        for body in bodies {
            self.exchange(request.method, path, &request.headers, body);
        }
    }

    /// Sends one request on a new connection and returns the body of the response.
    ///
    /// # Panics
    ///
    /// If the status is not 2xx.
    pub(crate) fn send(&self, method: &str, path: &str, headers: &[String], body: &str) -> String {
        let (head, body) = self.exchange(method, path, headers, body);
        assert!(head.starts_with("HTTP/1.1 2"), "{method} {path}: {head} {body}");
        body
    }

    /// Sends one request on a new connection and returns head and body of the response.
    pub(crate) fn exchange(
        &self,
        method: &str,
        path: &str,
        headers: &[String],
        body: &str,
    ) -> (String, String) {
        let host = self.host();
        let mut stream = TcpStream::connect(host).expect("a connection");
        let length = body.len();
        let mut request = format!(
            "{method} {path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\ncontent-length: {length}\r\n"
        );
        for header in headers {
            request.push_str(header);
            request.push_str("\r\n");
        }
        write!(stream, "{request}\r\n{body}").expect("a request");
        let mut response = String::new();
        stream.read_to_string(&mut response).expect("a response");
        let (head, body) = response.split_once("\r\n\r\n").expect("a body");
        (head.to_owned(), body.to_owned())
    }

    fn host(&self) -> &str {
        self.origin.trim_start_matches("http://")
    }
}

impl Drop for Child {
    /// A benchmark that panics leaves no server behind.
    fn drop(&mut self) {
        // Both fail if the server has ended already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A free port, for servers that cannot choose one themselves.
pub(crate) fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.local_addr().expect("an address").port()
}
