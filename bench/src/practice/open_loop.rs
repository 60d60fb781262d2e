//! Sends requests at a given rate, whatever the server does. Each is due at a random moment of its slot, and its latency
//! counts from then, also when all connections were busy: so a slow server cannot slow down the clock that judges it.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;

use super::connection::Connection;
use super::exact::AllowedCounts;
use super::requests::{self, Class, Request, Requests};
use crate::child::Child;
use crate::measure::{histogram, scatter};

/// A request that waits longer than this for a connection ends the run: the server cannot hold the rate.
const LATE_MAX: Duration = Duration::from_secs(2);
const OK: u16 = 200;
const TOO_MANY_REQUESTS: u16 = 429;
const SLOTS: u64 = 1 << 16;

/// A load to send.
#[derive(Debug, Clone, Copy)]
pub(super) struct Load {
    /// How many times the rates of the source.
    pub(super) multiple: f64,
    pub(super) length: Duration,
    pub(super) connections: usize,
}

/// What became of the requests of a class.
pub(super) struct ClassOutcome {
    pub(super) class: Class,
    /// Latencies in nanoseconds.
    pub(super) latency: Histogram<u64>,
    /// Responses with status 429: the limit of a day.
    pub(super) refused: u64,
    pub(super) errors: u64,
}

/// What became of a load.
pub(super) struct Outcome {
    pub(super) classes: Vec<ClassOutcome>,
    /// Whether the run ended early, because requests waited too long.
    pub(super) is_abandoned: bool,
    /// CPU time of the server.
    pub(super) cpu_time: Duration,
}

impl Outcome {
    fn empty() -> Outcome {
        let class = |class| ClassOutcome { class, latency: histogram(), refused: 0, errors: 0 };
        let classes = Class::ALL.map(class).into();
        Outcome { classes, is_abandoned: false, cpu_time: Duration::ZERO }
    }

    pub(super) fn requests(&self) -> u64 {
        self.classes.iter().map(|class| class.latency.len()).sum()
    }

    pub(super) fn errors(&self) -> u64 {
        self.classes.iter().map(|class| class.errors).sum()
    }

    /// The largest 99th percentile of a class.
    pub(super) fn p99(&self) -> Duration {
        let p99 = self.classes.iter().map(|class| class.latency.value_at_quantile(0.99)).max();
        Duration::from_nanos(p99.unwrap_or_default())
    }

    pub(super) fn server_micros(&self) -> f64 {
        self.cpu_time.as_secs_f64() * 1e6 / self.requests() as f64
    }

    fn record(&mut self, class: Class, status: Option<u16>, latency: Duration) {
        let of_class = self.classes.iter_mut().find(|outcome| outcome.class == class);
        let outcome = of_class.expect("every class");
        outcome.latency.saturating_record(latency.as_nanos() as u64);
        match (class, status) {
            (_, Some(OK)) => {}
            (Class::Usage, Some(TOO_MANY_REQUESTS)) => outcome.refused += 1,
            _ => outcome.errors += 1,
        }
    }

    fn add(&mut self, other: Outcome) {
        for (sum, part) in self.classes.iter_mut().zip(other.classes) {
            sum.latency.add(part.latency).expect("same bounds");
            sum.refused += part.refused;
            sum.errors += part.errors;
        }
    }
}

/// What the connections share.
struct Shared<'a> {
    requests: &'a Requests,
    allowed: &'a AllowedCounts,
    start: Instant,
    slot: Duration,
    /// The first number of this run, so that runs ask for different things.
    first: u64,
    next: AtomicU64,
    total: u64,
    is_abandoned: AtomicBool,
}

/// Sends a load and waits for all responses.
pub(super) fn run(
    server: &Child,
    requests: &Requests,
    allowed: &AllowedCounts,
    load: Load,
) -> Outcome {
    let rate = requests::per_minute() as f64 / 60.0 * load.multiple;
    let total = (rate * load.length.as_secs_f64()) as u64;
    let shared = Shared {
        requests,
        allowed,
        start: Instant::now(),
        slot: Duration::from_secs_f64(1.0 / rate),
        first: allowed.reserve_numbers(total),
        next: AtomicU64::new(0),
        total,
        is_abandoned: AtomicBool::new(false),
    };
    let before = server.cpu_time();
    let parts: Vec<Outcome> = std::thread::scope(|scope| {
        let callers = (0..load.connections).map(|_| scope.spawn(|| shared.call()));
        let callers: Vec<_> = callers.collect();
        callers.into_iter().map(|caller| caller.join().expect("a caller")).collect()
    });
    let mut outcome = Outcome::empty();
    parts.into_iter().for_each(|part| outcome.add(part));
    outcome.cpu_time = server.cpu_time() - before;
    outcome.is_abandoned = shared.is_abandoned.load(Ordering::Relaxed);
    outcome
}

impl Shared<'_> {
    /// Sends the next request that nobody sends yet, until there are none.
    fn call(&self) -> Outcome {
        let mut connection = Connection::open(self.requests.host());
        let mut outcome = Outcome::empty();
        loop {
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            if number >= self.total || self.is_abandoned.load(Ordering::Relaxed) {
                return outcome;
            }
            let request = self.requests.get(self.first + number);
            let due = self.start + self.due(number);
            std::thread::sleep(due.saturating_duration_since(Instant::now()));
            if due.elapsed() > LATE_MAX {
                self.is_abandoned.store(true, Ordering::Relaxed);
                return outcome;
            }
            let status = self.send(&mut connection, &request);
            outcome.record(request.class, status, due.elapsed());
        }
    }

    fn due(&self, number: u64) -> Duration {
        let moment = (scatter(11, self.first + number) % SLOTS) as f64 / SLOTS as f64;
        self.slot.mul_f64(number as f64 + moment)
    }

    /// The status; `None` if the connection failed, which is opened again.
    fn send(&self, connection: &mut Connection, request: &Request) -> Option<u16> {
        let Ok(status) = connection.exchange(&request.bytes) else {
            *connection = Connection::open(self.requests.host());
            return None;
        };
        if let (Some(user), OK) = (request.user, status) {
            self.allowed.add(user);
        }
        Some(status)
    }
}
