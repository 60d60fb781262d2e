//! Heads that are wrong, too large, or cut short.

use tokio::io::AsyncWriteExt as _;
use weir_framework::listen::Settings;

use crate::site::{HELLO, Site, answer, is_hello, rest, soon, status};

async fn site() -> Site {
    Site::open(Settings::default()).await
}

#[tokio::test]
async fn bytes_that_are_no_http_are_refused() {
    let site = site().await;
    let bad: [&[u8]; 9] = [
        b"\x00\x01\x02\x03\r\n\r\n",
        b"GET /\xff\xfe\xfd\0 HTTP/1.1\r\nHost: x\r\n\r\n",
        b"G\xc3\x28T / HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: x\r\nNa\x01me: v\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: x\r\nName: a\0b\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: x\r\n : no name\r\n\r\n",
        b"GET / HTTP/9.9\r\nHost: x\r\n\r\n",
        b"GET\r\n\r\n",
        b"GET /hello HTTP/1.1\r\nHost: x\r\nfolded\r\n  line: x\r\n\r\n",
    ];
    for bytes in bad {
        let answer = site.ask(bytes).await;
        assert_eq!(status(&answer), "400", "{bytes:?}: {answer}");
        site.serves().await;
    }
}

#[tokio::test]
async fn a_header_value_that_is_not_utf8_harms_nobody() {
    let site = site().await;
    let odd = b"GET /hello HTTP/1.1\r\nHost: x\r\nName: \xff\xfe\r\nConnection: close\r\n\r\n";
    let answer = site.ask(odd).await;
    assert!(is_hello(&answer), "{answer}");
    site.serves().await;
}

#[tokio::test]
async fn a_request_has_exactly_one_host() {
    let site = site().await;
    for hosts in ["", "Host: a\r\nHost: b\r\n", "Host: a\r\nhost: a\r\n"] {
        let request = format!("GET /hello HTTP/1.1\r\n{hosts}Connection: close\r\n\r\n");
        let answer = site.ask(request).await;
        assert_eq!(status(&answer), "400", "{hosts:?}: {answer}");
        assert!(answer.contains("Host"), "{answer}");
        site.serves().await;
    }
    // HTTP/1.0 knows no Host.
    let answer = site.ask("GET /hello HTTP/1.0\r\n\r\n").await;
    assert!(answer.ends_with("hello"), "{answer}");
}

#[tokio::test]
async fn two_lengths_that_differ_are_refused() {
    let site = site().await;
    for lengths in [
        "Content-Length: 3\r\nContent-Length: 4",
        "Content-Length: 3, 4",
        "Content-Length: -1",
        "Content-Length: +3",
        "Content-Length: 99999999999999999999",
        "Transfer-Encoding: gzip",
        "Transfer-Encoding: chunked, identity",
    ] {
        let request = format!("POST /count HTTP/1.1\r\nHost: x\r\n{lengths}\r\n\r\nabcd");
        let answer = site.ask(request).await;
        assert_eq!(status(&answer), "400", "{lengths}: {answer}");
        site.serves().await;
    }
}

#[tokio::test]
async fn a_length_beside_chunks_smuggles_nothing() {
    let site = site().await;
    // Whoever believed the length would take what follows the last chunk for another request.
    let smuggled = "GET /hello HTTP/1.1\r\nHost: x\r\n\r\n";
    for headers in [
        "Content-Length: 5\r\nTransfer-Encoding: chunked",
        "Transfer-Encoding: chunked\r\nContent-Length: 5",
    ] {
        let head = format!("POST /count HTTP/1.1\r\nHost: x\r\n{headers}\r\n\r\n");
        let answer = site.ask(format!("{head}0\r\n\r\n{smuggled}")).await;
        assert_eq!(answer.matches("HTTP/1.1 ").count(), 1, "{answer}");
        site.serves().await;
    }
}

#[tokio::test]
async fn a_head_that_is_too_large_is_refused() {
    let site = site().await;
    let long = "x".repeat(40 * 1024);
    let many = "Name: value\r\n".repeat(500);
    for head in [
        format!("GET /hello HTTP/1.1\r\nHost: x\r\nLong: {long}\r\n\r\n"),
        format!("GET /hello HTTP/1.1\r\nHost: x\r\n{many}\r\n"),
        format!("GET /{long} HTTP/1.1\r\nHost: x\r\n\r\n"),
    ] {
        // None when the connection is reset before the answer is read.
        let answer = site.ask(head).await;
        assert!(["431", "none"].contains(&status(&answer)), "{answer}");
        site.serves().await;
    }
}

#[tokio::test]
async fn a_head_that_never_ends_is_cut() {
    let site = site().await;
    let mut stream = site.send("GET /hello HTTP/1.1\r\nHost: x\r\n").await;
    let line = "Name: value\r\n".repeat(100);
    // Far more than fits into the kernel's buffers, so writing fails once nobody reads.
    let endless = async { while stream.write_all(line.as_bytes()).await.is_ok() {} };
    soon(endless).await;
    site.serves().await;
}

#[tokio::test]
async fn pipelined_requests_are_answered_in_order() {
    let site = site().await;
    let count = "POST /count HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc";
    let mut stream = site.send(format!("{HELLO}{count}").repeat(20)).await;
    for _ in 0..20 {
        // Each piece ends in its body; reading byte by byte keeps answers apart.
        let hello = one_answer(&mut stream).await;
        assert!(is_hello(&hello), "{hello}");
        let counted = one_answer(&mut stream).await;
        assert!(counted.ends_with("\r\n\r\n3"), "{counted}");
    }
    site.serves().await;
}

async fn one_answer(stream: &mut tokio::net::TcpStream) -> String {
    use tokio::io::AsyncReadExt as _;
    let mut text = String::new();
    while !text.ends_with("\r\n\r\n") {
        text.push(char::from(soon(stream.read_u8()).await.unwrap()));
    }
    let length = text.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap();
    let mut body = vec![0; length.parse().unwrap()];
    soon(stream.read_exact(&mut body)).await.unwrap();
    text + &String::from_utf8(body).unwrap()
}

#[tokio::test]
async fn a_half_closed_socket_ends_cleanly() {
    let site = site().await;
    for sent in ["", "GET /", "POST /count HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nab"] {
        let mut stream = site.send(sent).await;
        soon(stream.shutdown()).await.unwrap();
        rest(&mut stream).await;
        site.serves().await;
    }
    let mut stream = site.send(HELLO).await;
    let hello = answer(&mut stream, "hello").await;
    assert!(is_hello(&hello), "{hello}");
    soon(stream.shutdown()).await.unwrap();
    assert_eq!(rest(&mut stream).await, "");
    site.serves().await;
}

#[tokio::test]
async fn handlers_know_who_asks() {
    let site = site().await;
    let mut stream = site.connect().await;
    let me = stream.local_addr().unwrap().to_string();
    let request = "GET /peer HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
    soon(stream.write_all(request.as_bytes())).await.unwrap();
    let response = rest(&mut stream).await;
    assert!(response.ends_with(&format!("\r\n\r\n{me}")), "{response}");
}

#[tokio::test]
async fn a_handler_that_panics_ends_only_its_connection() {
    let site = site().await;
    let mut other = site.send(HELLO).await;
    assert!(is_hello(&answer(&mut other, "hello").await));
    let response = site.ask("GET /panic HTTP/1.1\r\nHost: x\r\n\r\n").await;
    assert_eq!(response, "");
    soon(other.write_all(HELLO.as_bytes())).await.unwrap();
    assert!(is_hello(&answer(&mut other, "hello").await));
    site.serves().await;
}
