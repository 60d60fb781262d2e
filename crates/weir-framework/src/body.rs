//! Reading the body of a request, within its bounds.
//!
//! A body that came along with its head is used where it lies: it costs no copy, no timer and no accounting. Any other body
//! gives the permit of its request back while it is on its way, is copied as it arrives, and counts against the memory for
//! bodies in flight by the bytes that have arrived, never by the length that was announced.

use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;

use axum::body::{Body, Bytes, HttpBody as _};
use axum::extract::Request;
use http_body_util::BodyExt as _;
use tokio::time::{Instant, timeout_at};

use crate::edge::RequestContext;
use crate::metrics::Rejection;
use crate::{ApiError, Code};

/// The largest body of a request that did not come through the edge, in bytes.
const BODY_BYTES_MAX: usize = 1024 * 1024;

/// Reads a body of any content type, up to the bound of its route.
///
/// # Errors
/// The body is too large, too slow or cut off, or the server has no capacity for it.
pub async fn bytes(request: Request) -> Result<Bytes, ApiError> {
    let mut reader = BodyReader::new(request);
    let Some(first) = reader.next().await? else { return Ok(Bytes::new()) };
    if reader.body.is_end_stream() {
        reader.end()?;
        return Ok(first);
    }
    // A piece may be a small part of a large buffer, so it is copied before the wait for the next one.
    let mut all = Vec::new();
    reader.append(&mut all, &first)?;
    drop(first);
    while let Some(piece) = reader.next().await? {
        reader.append(&mut all, &piece)?;
    }
    reader.end()?;
    Ok(all.into())
}

/// Passes a body of any content type to `take`, piece by piece as it arrives, up to the bound of its route. Its memory counts
/// until the request ends, because `take` may keep the pieces.
///
/// # Errors
/// As [`bytes`], or `take` refuses a piece.
pub async fn pieces<E: From<ApiError>>(
    request: Request,
    mut take: impl FnMut(&[u8]) -> Result<(), E>,
) -> Result<(), E> {
    let mut reader = BodyReader::new(request);
    while let Some(piece) = reader.next().await? {
        reader.reserve(piece.len())?;
        take(&piece)?;
    }
    Ok(reader.end()?)
}

/// The error of a body that is too large.
#[must_use]
pub fn too_large(bytes_max: usize) -> ApiError {
    let detail = format!("the body is larger than {bytes_max} bytes, the bound of this route");
    ApiError::new(Code::PAYLOAD_TOO_LARGE, detail).with("body_bytes_max", bytes_max)
}

struct BodyReader {
    body: Body,
    context: Option<RequestContext>,
    bytes_max: usize,
    /// Bytes that may still come.
    left: usize,
    /// When the whole body must be here, once it had to be waited for.
    deadline: Option<Instant>,
}

impl BodyReader {
    fn new(request: Request) -> BodyReader {
        let (mut parts, body) = request.into_parts();
        let context = parts.extensions.remove::<RequestContext>();
        let bytes_max = context.as_ref().map_or(BODY_BYTES_MAX, RequestContext::body_bytes_max);
        BodyReader { body, context, bytes_max, left: bytes_max, deadline: None }
    }

    /// The next piece of data; none at the end.
    async fn next(&mut self) -> Result<Option<Bytes>, ApiError> {
        while !self.body.is_end_stream()
            && let Some(frame) = self.frame().await?
        {
            let Ok(piece) = frame.into_data() else { continue };
            let left = self.left.checked_sub(piece.len());
            self.left = left.ok_or_else(|| too_large(self.bytes_max))?;
            return Ok(Some(piece));
        }
        Ok(None)
    }

    /// The next frame. Gives the permit back if it is not here yet.
    async fn frame(&mut self) -> Result<Option<hyper::body::Frame<Bytes>>, ApiError> {
        let mut frame = pin!(self.body.frame());
        let polled = poll_fn(|cx| Poll::Ready(frame.as_mut().poll(cx))).await;
        let frame = match (polled, &self.context) {
            (Poll::Ready(frame), _) => frame,
            (Poll::Pending, None) => frame.await,
            (Poll::Pending, Some(context)) => {
                context.admission().pause();
                let timeout = context.body_timeout();
                let deadline = timeout
                    .map(|timeout| *self.deadline.get_or_insert_with(|| Instant::now() + timeout));
                match deadline {
                    None => frame.await,
                    Some(deadline) => {
                        timeout_at(deadline, frame).await.map_err(|_| too_slow(context))?
                    }
                }
            }
        };
        frame.transpose().map_err(|_| ApiError::invalid("body", "could not be read to its end"))
    }

    /// Copies a piece to the end of `all`, which grows by doubling within the bound of the route.
    fn append(&self, all: &mut Vec<u8>, piece: &[u8]) -> Result<(), ApiError> {
        let (length, capacity) = (all.len() + piece.len(), all.capacity());
        if length > capacity {
            let capacity_wanted = length.max(capacity.saturating_mul(2).min(self.bytes_max));
            self.reserve(capacity_wanted - capacity)?;
            all.reserve_exact(capacity_wanted - all.len());
        }
        all.extend_from_slice(piece);
        Ok(())
    }

    fn reserve(&self, bytes: usize) -> Result<(), ApiError> {
        let reserve = |context: &RequestContext| context.admission().reserve(bytes);
        self.context.as_ref().map_or(Ok(()), reserve)
    }

    /// The body is here: takes the permit again, if it was given back.
    fn end(&self) -> Result<(), ApiError> {
        match &self.context {
            Some(context) if !context.admission().resume(context.is_admin()) => {
                Err(context.admission().overloaded())
            }
            _ => Ok(()),
        }
    }
}

fn too_slow(context: &RequestContext) -> ApiError {
    context.admission().reject(Rejection::TimedOut);
    ApiError::new(Code::REQUEST_TIMEOUT, "the request body did not arrive in time")
}
