//! A client's stream with timeouts.
//!
//! Three waits time out: for the head of a request (`header_timeout`), for the next request
//! (`idle_timeout`), and for the client to read what was written (`write_timeout`). Then reading or
//! writing fails with `TimedOut` and hyper drops the connection. No timeout applies here while a
//! request is in progress: its body has a timeout of its own (`timed_body`), and the edge bounds
//! the handler.
//!
//! A connection's timer is set once and moved only when it fires or when an earlier deadline
//! applies, so a busy connection touches no timer per request.

use std::io;
use std::mem::MaybeUninit;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep, sleep_until};

use super::connection_state::ConnectionState;

/// How long the rest of a body that no handler reads is received, so that the client can read the
/// response before the connection is reset.
const LINGER_MAX: Duration = Duration::from_secs(2);
/// Bytes of such a body that are read and discarded.
const LINGER_BYTES_MAX: usize = 16 * 1024 * 1024;
const LINGER_PIECE: usize = 8 * 1024;
/// A response of at most this many bytes, head and body, is copied and written as one piece, which
/// costs less than `writev`. (Hyper's `writev(false)` would keep a buffer of the largest response.)
const JOINED_MAX: usize = 2 * 1024;

/// The timeouts of a connection.
#[derive(Debug, Clone, Copy)]
pub(super) struct Timeouts {
    pub(super) header: Duration,
    pub(super) idle: Duration,
    pub(super) write: Duration,
}

/// The input that the connection waits for, and until when.
#[derive(Debug, Clone, Copy)]
enum Wait {
    Nothing,
    NextRequest(Instant),
    /// A head has begun, but reading it has not had to wait yet.
    HeadBegun,
    Head(Instant),
}

#[derive(Debug)]
pub(super) struct TimedStream<S> {
    stream: S,
    state: Arc<ConnectionState>,
    timeouts: Timeouts,
    wait: Wait,
    timer: Pin<Box<Sleep>>,
    /// Set while the client does not read what is written.
    write_timer: Option<Pin<Box<Sleep>>>,
    linger: Option<Linger>,
}

#[derive(Debug)]
struct Linger {
    timer: Pin<Box<Sleep>>,
    bytes: usize,
}

impl<S: AsyncRead + AsyncWrite + Unpin> TimedStream<S> {
    /// A new connection, which has to send its first head.
    pub(super) fn new(
        stream: S,
        state: Arc<ConnectionState>,
        timeouts: Timeouts,
    ) -> TimedStream<S> {
        let deadline = Instant::now() + timeouts.header;
        TimedStream {
            stream,
            state,
            timeouts,
            wait: Wait::Head(deadline),
            timer: Box::pin(sleep_until(deadline)),
            write_timer: None,
            linger: None,
        }
    }

    /// Bytes were read: unless they belong to a request in progress, a head has begun.
    fn on_read(&mut self) {
        if !self.state.in_request() && !matches!(self.wait, Wait::Head(_)) {
            self.wait = Wait::HeadBegun;
        }
    }

    /// Bytes are written, so the head has arrived. A flush does not prove that, because hyper also
    /// flushes when there is nothing to write.
    fn on_write(&mut self) {
        self.wait = Wait::Nothing;
    }

    /// Ready when the client has sent nothing for too long.
    fn poll_read_timeout(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if self.state.in_request() || self.write_timer.is_some() {
            self.wait = Wait::Nothing;
            return Poll::Pending;
        }
        let deadline = match self.wait {
            Wait::NextRequest(deadline) | Wait::Head(deadline) => deadline,
            Wait::Nothing => {
                let deadline = Instant::now() + self.timeouts.idle;
                self.wait = Wait::NextRequest(deadline);
                deadline
            }
            Wait::HeadBegun => {
                let deadline = Instant::now() + self.timeouts.header;
                self.wait = Wait::Head(deadline);
                deadline
            }
        };
        if deadline < self.timer.deadline() {
            self.timer.as_mut().reset(deadline);
        }
        while self.timer.deadline() < deadline {
            ready!(self.timer.as_mut().poll(cx));
            self.timer.as_mut().reset(deadline);
        }
        self.timer.as_mut().poll(cx)
    }

    /// Returns the result of a write, or fails it when the client has read nothing for too long.
    fn with_write_timeout<T>(
        &mut self,
        written: Poll<io::Result<T>>,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.write_timer = None;
            return written;
        }
        let timeout = self.timeouts.write;
        let timer = self.write_timer.get_or_insert_with(|| Box::pin(sleep(timeout)));
        timer.as_mut().poll(cx).map(|()| Err(timed_out()))
    }

    /// Reads and discards what the client still sends, within the bounds above.
    fn poll_linger(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let linger = self
            .linger
            .get_or_insert_with(|| Linger { timer: Box::pin(sleep(LINGER_MAX)), bytes: 0 });
        while linger.bytes < LINGER_BYTES_MAX && linger.timer.as_mut().poll(cx).is_pending() {
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

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncRead for TimedStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        match Pin::new(&mut self.stream).poll_read(cx, buffer) {
            Poll::Ready(read) => {
                if buffer.filled().len() > before {
                    self.on_read();
                }
                Poll::Ready(read)
            }
            Poll::Pending => self.poll_read_timeout(cx).map(|()| Err(timed_out())),
        }
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for TimedStream<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.on_write();
        self.with_write_timeout(written, cx)
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
        self.on_write();
        self.with_write_timeout(written, cx)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.stream).poll_flush(cx);
        ready!(self.with_write_timeout(flushed, cx))?;
        // After a response hyper reads again only when bytes arrive or the timer fires, so the wait
        // for the next request begins here.
        if matches!(self.wait, Wait::Nothing) && self.poll_read_timeout(cx).is_ready() {
            return Poll::Ready(Err(timed_out()));
        }
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.linger.is_none() {
            let closed = Pin::new(&mut self.stream).poll_shutdown(cx);
            ready!(self.with_write_timeout(closed, cx))?;
        }
        if self.state.has_unread_body() {
            ready!(self.poll_linger(cx));
        }
        Poll::Ready(Ok(()))
    }
}
