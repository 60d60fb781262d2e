//! Many connections at once: ten thousand that idle, more than are let in, more than there are
//! descriptors for.

use std::collections::HashSet;
use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::fd::AsRawFd as _;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::io::AsyncWriteExt as _;
use tokio::time::timeout;
use weir_framework::listen::Settings;

use crate::site::{HELLO, Site, answer, is_hello, rest, soon};

const CROWD: usize = 10_000;
/// Descriptors a process of this test needs besides its share of the connections.
const SPARE: u64 = 2_000;
/// Long enough for an answer that should not come.
const A_WHILE: Duration = Duration::from_millis(300);

/// Starts this program again to run one of its tests, with a variable.
fn again(test: &str, variable: Option<(&str, &str)>) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--ignored", "--nocapture"])
        .envs(variable)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_thousand_idle_connections_leave_room_for_requests() {
    let hard = getrlimit(Resource::Nofile).maximum.unwrap_or(u64::MAX);
    if hard < CROWD as u64 + SPARE {
        return weir_testkit::skip("too few files may be open", &format!("{hard} files"));
    }
    let site = Site::open(Settings {
        connections_max: CROWD + 100,
        connections_per_address_max: CROWD + 100,
        header_timeout: Duration::from_secs(600),
        ..Settings::default()
    })
    .await;
    // They live in another process, because both ends of each would be too many for one.
    let address = site.address().to_string();
    let mut crowd = again("crowd::a_crowd", Some(("WEIR_TEST_CROWD_AT", &address)));
    let mut out = crowd.stdout.take().unwrap();
    let held = tokio::task::spawn_blocking(move || {
        let mut seen = String::new();
        let mut byte = [0];
        while !seen.ends_with("all are here") && out.read(&mut byte).unwrap() > 0 {
            seen.push(char::from(byte[0]));
        }
        seen
    });
    let held = soon(held).await.unwrap();
    assert!(held.ends_with("all are here"), "{held}");
    for _ in 0..100 {
        site.serves().await;
    }
    drop(crowd.stdin.take());
    crowd.wait().unwrap();
    site.serves().await;
}

/// First come those who ask once, then those who say nothing, as fast as they can.
#[test]
#[ignore = "not a test of its own: `ten_thousand_idle_connections_leave_room_for_requests` starts it as a process"]
fn a_crowd() {
    let address = std::env::var("WEIR_TEST_CROWD_AT").unwrap();
    raise_open_files();
    let mut held = Vec::new();
    for turn in 0..CROWD {
        let mut stream = std::net::TcpStream::connect(&address).unwrap();
        if turn < CROWD / 2 {
            stream.write_all(HELLO.as_bytes()).unwrap();
            let mut end = [0; 4096];
            assert!(stream.read(&mut end).unwrap() > 0);
        }
        held.push(stream);
    }
    println!("all are here");
    std::io::stdin().read_to_end(&mut Vec::new()).unwrap();
}

fn raise_open_files() {
    let maximum = getrlimit(Resource::Nofile).maximum;
    let current = maximum;
    setrlimit(Resource::Nofile, Rlimit { current, maximum }).unwrap();
}

#[tokio::test]
async fn at_the_bound_new_connections_wait_for_their_turn() {
    let bounds = Settings { connections_max: 2, bounds_loopback: true, ..Settings::default() };
    let site = Site::open(bounds).await;
    let mut first = site.send(HELLO).await;
    assert!(is_hello(&answer(&mut first, "hello").await));
    let mut second = site.send(HELLO).await;
    assert!(is_hello(&answer(&mut second, "hello").await));
    let mut third = site.send(HELLO).await;
    let early = timeout(A_WHILE, third.readable()).await;
    assert!(early.is_err(), "served beyond the bound");
    drop(first);
    assert!(is_hello(&answer(&mut third, "hello").await));
    drop(second);
    site.serves().await;
}

#[tokio::test]
async fn beyond_the_bound_and_those_who_wait_connections_are_closed() {
    let bounds = Settings { connections_max: 2, bounds_loopback: true, ..Settings::default() };
    let site = Site::open(Settings { connections_waiting_max: 1, ..bounds }).await;
    let mut first = site.send(HELLO).await;
    assert!(is_hello(&answer(&mut first, "hello").await));
    let mut second = site.send(HELLO).await;
    assert!(is_hello(&answer(&mut second, "hello").await));
    let mut third = site.send(HELLO).await;
    assert_eq!(site.ask(HELLO).await, "", "closed without a response");
    drop(first);
    assert!(is_hello(&answer(&mut third, "hello").await));
}

#[tokio::test]
async fn this_machine_gets_in_beyond_the_bound() {
    let site = Site::open(Settings { connections_max: 1, ..Settings::default() }).await;
    let mut held = Vec::new();
    for _ in 0..65 {
        let mut stream = site.send(HELLO).await;
        assert!(is_hello(&answer(&mut stream, "hello").await));
        held.push(stream);
    }
    let mut beyond = site.send(HELLO).await;
    assert!(timeout(A_WHILE, beyond.readable()).await.is_err(), "served beyond all bounds");
    drop(held);
    assert!(is_hello(&answer(&mut beyond, "hello").await));
}

#[tokio::test]
async fn connections_spread_over_the_threads_and_stay() {
    const THREADS: usize = 2;
    const THREAD: &str = "GET /thread HTTP/1.1\r\nHost: x\r\n\r\n";
    let site = Site::open(Settings { threads: THREADS, ..Settings::default() }).await;
    let mut connections = Vec::new();
    for _ in 0..2 * THREADS {
        let mut stream = site.connect().await;
        let mut threads = Vec::new();
        for _ in 0..20 {
            soon(stream.write_all(THREAD.as_bytes())).await.unwrap();
            threads.push(answer(&mut stream, ")").await.lines().last().unwrap().to_owned());
        }
        threads.dedup();
        assert_eq!(threads.len(), 1, "it moved between {threads:?}");
        connections.push((threads.remove(0), stream));
    }
    let threads: HashSet<&String> = connections.iter().map(|(thread, _)| thread).collect();
    assert_eq!(threads.len(), THREADS, "{threads:?}");
}

#[test]
fn running_out_of_descriptors_is_survived() {
    // In a process of its own: the limit holds for all of a process.
    let name = "crowd::out_of_descriptors";
    let ran = again(name, None);
    let output = ran.wait_with_output().unwrap();
    let message = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success() && message.contains("1 passed"), "{message}");
}

#[tokio::test]
#[ignore = "not a test of its own: `running_out_of_descriptors_is_survived` starts it as a process"]
async fn out_of_descriptors() {
    let site = Site::open(Settings::default()).await;
    site.serves().await;
    let old = getrlimit(Resource::Nofile);
    // One more file can be opened, and that is the client's end of the connection.
    let next = File::open("/dev/null").unwrap().as_raw_fd();
    let current = Some(u64::try_from(next).unwrap() + 1);
    setrlimit(Resource::Nofile, Rlimit { current, ..old }).unwrap();
    let mut stream = site.connect().await;
    soon(stream.write_all(HELLO.as_bytes())).await.unwrap();
    let early = timeout(A_WHILE, stream.readable()).await;
    assert!(early.is_err(), "accepted without a descriptor");
    setrlimit(Resource::Nofile, old).unwrap();
    assert!(is_hello(&answer(&mut stream, "hello").await));
    soon(stream.shutdown()).await.unwrap();
    assert_eq!(rest(&mut stream).await, "");
    site.serves().await;
}
