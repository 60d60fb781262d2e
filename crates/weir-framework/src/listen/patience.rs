//! A client's stream, with an end to how long we wait for the client.
//!
//! Three waits have an end: for the head of a request (`header_timeout`), for the next request
//! (`idle_timeout`), and for the client to take what was written (`write_timeout`). When one is
//! over, reading or writing fails with `TimedOut` and hyper drops the connection. While a request
//! is under way nothing is waited for here: its body has a pace of its own, and how long a handler
//! works is not the client's doing.
//!
//! The alarm of a connection is set once and moved only when it rings or when an earlier deadline
//! comes up, so a busy connection touches no timer per request.

use std::io;
use std::mem::MaybeUninit;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::body::Bytes;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep, sleep_until};

use super::burst;
use super::home::{Arriving, Home};
use super::turn::Turn;

/// How long a client that still sends a body nobody wants may go on, so that it can read our answer
/// before the connection is reset.
const LINGER_MAX: Duration = Duration::from_secs(2);
/// Bytes of such a body that are read and thrown away.
const LINGER_BYTES_MAX: usize = 16 * 1024 * 1024;
const LINGER_PIECE: usize = 8 * 1024;
/// An answer of at most this many bytes, head and body, is handed to the kernel as one piece: to copy it costs less
/// than what the kernel does for a list of pieces.
const JOINED_MAX: usize = 2 * 1024;

/// How long we wait for a client.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    pub(super) header: Duration,
    pub(super) idle: Duration,
    pub(super) write: Duration,
}

/// What a client is waited for, and until when.
#[derive(Debug, Clone, Copy)]
enum Wait {
    Nothing,
    Request(Instant),
    /// A head that has begun, while nobody has had to wait for its end yet.
    Begun,
    Head(Instant),
}

#[derive(Debug)]
pub(super) struct Patient<S> {
    stream: S,
    /// What was read of it on another thread.
    ahead: Bytes,
    home: Home,
    turn: Arc<Turn>,
    limits: Limits,
    wait: Wait,
    alarm: Pin<Box<Sleep>>,
    /// Set while the client takes nothing of what is written.
    blocked: Option<Pin<Box<Sleep>>>,
    linger: Option<Linger>,
}

#[derive(Debug)]
struct Linger {
    over: Pin<Box<Sleep>>,
    bytes: usize,
}

impl<S: AsyncRead + AsyncWrite + Arriving + Unpin> Patient<S> {
    /// A new connection owes us its first head.
    pub(super) fn new(stream: S, home: Home, turn: Arc<Turn>, limits: Limits) -> Patient<S> {
        let deadline = Instant::now() + limits.header;
        Patient {
            stream,
            ahead: Bytes::new(),
            home,
            turn,
            limits,
            wait: Wait::Head(deadline),
            alarm: Box::pin(sleep_until(deadline)),
            blocked: None,
            linger: None,
        }
    }

    /// One that comes from another thread has asked before, and perhaps begun to ask again.
    #[must_use]
    pub(super) fn after(mut self, ahead: Bytes) -> Patient<S> {
        if ahead.is_empty() {
            self.wait = Wait::Nothing;
        }
        self.ahead = ahead;
        self
    }

    /// The stream, to be handed to another thread, and where it was.
    pub(super) fn into_parts(self) -> (S, Home) {
        (self.stream, self.home)
    }

    /// Bytes came: unless they belong to a request under way, a head has begun.
    fn heard(&mut self) {
        self.turn.set_elsewhere(false);
        if !self.turn.is_ours() && !matches!(self.wait, Wait::Head(_)) {
            self.wait = Wait::Begun;
        }
    }

    /// Something is written: the head that was waited for has come. A flush says nothing of the
    /// kind, because hyper also flushes when there is nothing to write.
    fn answered(&mut self) {
        burst::wrote();
        self.wait = Wait::Nothing;
        // Until all of it has been flushed the connection is not at rest.
        self.turn.set_elsewhere(false);
    }

    /// Nothing came: ready when that has lasted too long.
    fn poll_silence(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if self.turn.is_ours() || self.blocked.is_some() {
            self.wait = Wait::Nothing;
            return Poll::Pending;
        }
        let deadline = match self.wait {
            Wait::Request(deadline) | Wait::Head(deadline) => deadline,
            Wait::Nothing => {
                let deadline = Instant::now() + self.limits.idle;
                self.wait = Wait::Request(deadline);
                let is_elsewhere = self.home.is_elsewhere(&self.stream);
                self.turn.set_elsewhere(is_elsewhere);
                deadline
            }
            Wait::Begun => {
                let deadline = Instant::now() + self.limits.header;
                self.wait = Wait::Head(deadline);
                deadline
            }
        };
        if deadline < self.alarm.deadline() {
            self.alarm.as_mut().reset(deadline);
        }
        while self.alarm.deadline() < deadline {
            ready!(self.alarm.as_mut().poll(cx));
            self.alarm.as_mut().reset(deadline);
        }
        self.alarm.as_mut().poll(cx)
    }

    /// Passes on what became of a write, or fails it when the client took nothing for too long.
    fn paced<T>(
        &mut self,
        written: Poll<io::Result<T>>,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.blocked = None;
            return written;
        }
        let limit = self.limits.write;
        let blocked = self.blocked.get_or_insert_with(|| Box::pin(sleep(limit)));
        blocked.as_mut().poll(cx).map(|()| Err(timed_out()))
    }

    /// Reads and drops what the client still sends, for a while.
    fn poll_linger(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let linger = self
            .linger
            .get_or_insert_with(|| Linger { over: Box::pin(sleep(LINGER_MAX)), bytes: 0 });
        while linger.bytes < LINGER_BYTES_MAX && linger.over.as_mut().poll(cx).is_pending() {
            let mut piece = [MaybeUninit::uninit(); LINGER_PIECE];
            let mut piece = ReadBuf::uninit(&mut piece);
            let read = ready!(Pin::new(&mut self.stream).poll_read(cx, &mut piece));
            if read.is_err() || piece.filled().is_empty() {
                break;
            }
            linger.bytes += piece.filled().len();
        }
        Poll::Ready(())
    }
}

fn timed_out() -> io::Error {
    io::ErrorKind::TimedOut.into()
}

impl<S: AsyncRead + AsyncWrite + Arriving + Unpin> AsyncRead for Patient<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if !self.ahead.is_empty() {
            let length = self.ahead.len().min(buffer.remaining());
            buffer.put_slice(&self.ahead.split_to(length));
            return Poll::Ready(Ok(()));
        }
        let before = buffer.filled().len();
        match Pin::new(&mut self.stream).poll_read(cx, buffer) {
            Poll::Ready(read) => {
                if buffer.filled().len() > before {
                    self.heard();
                }
                Poll::Ready(read)
            }
            Poll::Pending => self.poll_silence(cx).map(|()| Err(timed_out())),
        }
    }
}

impl<S: AsyncRead + AsyncWrite + Arriving + Unpin> AsyncWrite for Patient<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.answered();
        self.paced(written, cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let length: usize = pieces.iter().map(|piece| piece.len()).sum();
        if length <= JOINED_MAX {
            let mut joined = [MaybeUninit::uninit(); JOINED_MAX];
            let mut joined = ReadBuf::uninit(&mut joined);
            pieces.iter().for_each(|piece| joined.put_slice(piece));
            return self.poll_write(cx, joined.filled());
        }
        let written = Pin::new(&mut self.stream).poll_write_vectored(cx, pieces);
        self.answered();
        self.paced(written, cx)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.stream).poll_flush(cx);
        ready!(self.paced(flushed, cx))?;
        // After an answer hyper reads again only when bytes come or the alarm rings, so the wait
        // for the next request has to begin here.
        if matches!(self.wait, Wait::Nothing) && self.poll_silence(cx).is_ready() {
            return Poll::Ready(Err(timed_out()));
        }
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.linger.is_none() {
            let shut = Pin::new(&mut self.stream).poll_shutdown(cx);
            ready!(self.paced(shut, cx))?;
        }
        if self.turn.has_unread() {
            ready!(self.poll_linger(cx));
        }
        Poll::Ready(Ok(()))
    }
}
