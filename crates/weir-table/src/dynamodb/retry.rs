//! The retry loop of every call: attempts, waits, a deadline and a budget.
//!
//! The SDK's own retries are off, because it repeats a write whose response was lost, and an `ADD` sent twice counts twice.
//! Here a call declares whether it may be repeated. Waits grow exponentially with full jitter. All calls share a budget
//! of retries, so that a store in trouble gets no more requests than a healthy one: a retry takes a token, every
//! response returns a tenth of one.

use std::future::Future;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use aws_sdk_dynamodb::config::http::HttpResponse;
use aws_sdk_dynamodb::error::{ProvideErrorMetadata, SdkError};
use tokio::time::Instant;

use super::fault::{self, Fault};
use super::meter::{Meter, Verb};
use crate::error::{Error, Result};

/// Retries of calls.
#[derive(Debug, Clone)]
pub struct RetryOptions {
    /// Attempts of one call, the first included. Default 6.
    pub attempts_max: u32,
    /// The longest wait before the second attempt; it doubles with every further one. Default 20 ms.
    pub wait_base: Duration,
    /// The longest wait between attempts. Default 1 s.
    pub wait_max: Duration,
    /// Retries of all calls in a row without a response in between. Default 100.
    pub budget: u32,
}

impl Default for RetryOptions {
    fn default() -> RetryOptions {
        RetryOptions {
            attempts_max: 6,
            wait_base: Duration::from_millis(20),
            wait_max: Duration::from_secs(1),
            budget: 100,
        }
    }
}

/// Timeouts of calls.
#[derive(Debug, Clone)]
pub struct Timeouts {
    /// Timeout of a connection attempt. Default 1 s.
    pub connect: Duration,
    /// Timeout of one attempt. Default 3 s.
    pub attempt: Duration,
    /// Timeout of a call with all its attempts and waits. Default 10 s.
    pub total: Duration,
    /// Timeout for a table to be created or deleted. Default 5 min.
    pub table: Duration,
}

impl Default for Timeouts {
    fn default() -> Timeouts {
        Timeouts {
            connect: Duration::from_secs(1),
            attempt: Duration::from_secs(3),
            total: Duration::from_secs(10),
            table: Duration::from_secs(300),
        }
    }
}

const TOKEN_PARTS: u64 = 10;

/// The tokens that all calls share, in tenths.
#[derive(Debug)]
struct Budget {
    tenths: AtomicU64,
    max: u64,
}

impl Budget {
    fn new(tokens: u32) -> Budget {
        let max = u64::from(tokens) * TOKEN_PARTS;
        Budget { tenths: AtomicU64::new(max), max }
    }

    fn take(&self) -> bool {
        let taken = |tenths: u64| tenths.checked_sub(TOKEN_PARTS);
        self.tenths.fetch_update(Ordering::Relaxed, Ordering::Relaxed, taken).is_ok()
    }

    fn give_back(&self) {
        let given = |tenths: u64| (tenths < self.max).then_some(tenths + 1);
        let _ = self.tenths.fetch_update(Ordering::Relaxed, Ordering::Relaxed, given);
    }
}

/// The longest wait before attempt `number` (from 1).
fn wait_ceiling(options: &RetryOptions, number: u32) -> Duration {
    let doubled = 2u32.saturating_pow(number.saturating_sub(1).min(20));
    options.wait_base.saturating_mul(doubled).min(options.wait_max)
}

/// A call, as the retry loop sees it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Call<'a> {
    /// The verb that it is metered under.
    pub(super) verb: Verb,
    /// The table's logical name; empty if there are several or none.
    pub(super) table: &'a str,
    /// Whether it may be repeated after a lost response.
    pub(super) repeatable: bool,
}

/// The response of a call.
#[derive(Debug)]
pub(super) struct Answered<T> {
    /// The response.
    pub(super) value: T,
    /// Whether the response of an earlier attempt was lost, so that it may have been applied before.
    pub(super) repeated: bool,
}

/// Why a call failed.
#[derive(Debug)]
pub(super) enum Failed<E> {
    /// DynamoDB refused the request itself.
    Answer(E),
    /// Anything else.
    Error(Error),
}

impl<E> Failed<E>
where
    E: ProvideErrorMetadata + std::error::Error + Send + Sync + 'static,
{
    /// The error, for a verb that handles no refusal of its own.
    pub(super) fn into_error(self, doing: &str, table: &str) -> Error {
        match self {
            Failed::Answer(error) => fault::answered(doing, table, error),
            Failed::Error(error) => error,
        }
    }
}

/// Repeats attempts until one succeeds, within the bounds.
#[derive(Debug)]
pub(super) struct Retries {
    options: RetryOptions,
    timeouts: Timeouts,
    budget: Budget,
}

impl Retries {
    pub(super) fn new(options: RetryOptions, timeouts: Timeouts) -> Retries {
        let budget = Budget::new(options.budget);
        Retries { options, timeouts, budget }
    }

    /// Makes `call` and classifies errors as usual.
    pub(super) async fn run<T, E, F>(
        &self,
        meter: &Meter,
        call: Call<'_>,
        attempt: impl Fn() -> F,
    ) -> Result<Answered<T>, Failed<E>>
    where
        F: Future<Output = Result<T, SdkError<E, HttpResponse>>>,
        E: ProvideErrorMetadata + std::error::Error + Send + Sync + 'static,
    {
        self.run_judged(meter, call, fault::judge, attempt).await
    }

    /// Makes `call`; `judge` classifies its failed attempts.
    pub(super) async fn run_judged<T, E, F>(
        &self,
        meter: &Meter,
        call: Call<'_>,
        judge: impl Fn(&SdkError<E, HttpResponse>) -> Fault,
        attempt: impl Fn() -> F,
    ) -> Result<Answered<T>, Failed<E>>
    where
        F: Future<Output = Result<T, SdkError<E, HttpResponse>>>,
        E: ProvideErrorMetadata + std::error::Error + Send + Sync + 'static,
    {
        let deadline = Instant::now() + self.timeouts.total;
        let mut repeated = false;
        meter.call(call.verb, call.table);
        for number in 1.. {
            let error = match self.attempt_once(deadline, attempt()).await {
                Ok(value) => {
                    self.budget.give_back();
                    return Ok(Answered { value, repeated });
                }
                Err(error) => error,
            };
            let fault = judge(&error);
            match fault {
                Fault::Throttled => meter.throttled(call.verb, call.table),
                Fault::Answer | Fault::Conflict => self.budget.give_back(),
                _ => {}
            }
            repeated |= fault == Fault::Lost;
            let again = number < self.options.attempts_max && fault.may_try_again(call.repeatable);
            if !again || !self.wait(number, deadline).await {
                return Err(fault::given_up(fault, error, repeated));
            }
            meter.retried(call.verb, call.table);
        }
        Err(Failed::Error(Error::Throttled))
    }

    async fn attempt_once<T, E>(
        &self,
        deadline: Instant,
        attempt: impl Future<Output = Result<T, SdkError<E, HttpResponse>>>,
    ) -> Result<T, SdkError<E, HttpResponse>> {
        let until = deadline.min(Instant::now() + self.timeouts.attempt);
        match tokio::time::timeout_at(until, attempt).await {
            Ok(answer) => answer,
            Err(_) => Err(SdkError::timeout_error("no response in time")),
        }
    }

    /// Waits before the attempt after `number`; returns false if no time or budget is left.
    pub(super) async fn wait(&self, number: u32, deadline: Instant) -> bool {
        let ceiling = wait_ceiling(&self.options, number);
        let wait = ceiling.mul_f64(fastrand::f64());
        if Instant::now() + wait >= deadline || !self.budget.take() {
            return false;
        }
        tokio::time::sleep(wait).await;
        true
    }

    /// The deadline of a call that starts now.
    pub(super) fn deadline(&self) -> Instant {
        Instant::now() + self.timeouts.total
    }

    /// Attempts of a call.
    pub(super) fn attempts_max(&self) -> u32 {
        self.options.attempts_max
    }

    /// How long a table may take to change its state.
    pub(super) fn table_timeout(&self) -> Duration {
        self.timeouts.table
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_the_longest() {
        let options = RetryOptions::default();
        let ms: Vec<_> = (1..9).map(|number| wait_ceiling(&options, number).as_millis()).collect();
        assert_eq!(ms, [20, 40, 80, 160, 320, 640, 1000, 1000]);
    }

    #[test]
    fn the_budget_is_refilled_by_answers() {
        let budget = Budget::new(2);
        assert!(budget.take() && budget.take());
        assert!(!budget.take());
        for _ in 0..9 {
            budget.give_back();
        }
        assert!(!budget.take());
        budget.give_back();
        assert!(budget.take());
        for _ in 0..100 {
            budget.give_back();
        }
        assert!(budget.take() && budget.take());
        assert!(!budget.take());
    }
}
