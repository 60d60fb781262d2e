//! Whether a connection is with the thread that belongs to the processor its packets arrive on.
//!
//! What matters is that all connections of a client's thread are with one of ours: then each two wake each other and
//! nobody else, and the system leaves them where they are. When clients connect their threads have often just begun and
//! share a processor, so connections come apart. Therefore all are asked a while later, at one moment (`rounds`), where their
//! packets arrive; if they are mixed, and the answers part them evenly, they move.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering::Relaxed};

use tokio::net::TcpStream;
use tokio_rustls::server::TlsStream;

/// How many connections of a thread there are to one that belongs elsewhere before that one counts.
const STRAYS_PART: usize = 24;

/// How many answers say something of all.
const TOLD_MIN: usize = 4;

/// A stream whose packets arrive on some processor.
pub(super) trait Arriving {
    /// Which one, where the system tells it and the stream could be handed to another thread.
    fn arrives_on(&self) -> Option<usize>;
}

impl Arriving for TcpStream {
    fn arrives_on(&self) -> Option<usize> {
        arrives_on(self)
    }
}

/// What has been agreed with a client belongs to the thread that has agreed it.
impl Arriving for TlsStream<TcpStream> {
    fn arrives_on(&self) -> Option<usize> {
        None
    }
}

/// The processor on which a socket's packets arrive.
#[cfg(target_os = "linux")]
pub(super) fn arrives_on(socket: impl rustix::fd::AsFd) -> Option<usize> {
    let number = rustix::net::sockopt::socket_incoming_cpu(socket).ok()?;
    usize::try_from(number).ok()
}

#[cfg(not(target_os = "linux"))]
pub(super) fn arrives_on<S>(_: S) -> Option<usize> {
    None
}

/// The processors that threads belong to, and what connections say of them.
#[derive(Debug)]
pub(super) struct Processors {
    /// Those this process may run on, by number; none where the system does not tell.
    numbers: Vec<usize>,
    threads: usize,
    /// The round of questions that is on, and the last one whose answers count. They only say what
    /// to look at and guard no other memory, so relaxed order is enough.
    asked: AtomicU32,
    decided: AtomicU32,
    /// For each thread that has connections and each that they belong to, how many said so in this round.
    told: Vec<AtomicUsize>,
}

impl Processors {
    /// Shared by so many threads.
    pub(super) fn new(numbers: Vec<usize>, threads: usize) -> Processors {
        let told = (0..threads * threads).map(|_| AtomicUsize::new(0)).collect();
        let (asked, decided) = (AtomicU32::new(0), AtomicU32::new(0));
        Processors { numbers, threads, asked, decided, told }
    }

    /// The thread that belongs to a processor.
    pub(super) fn thread_of(&self, processor: usize) -> Option<usize> {
        let place = self.numbers.iter().position(|number| *number == processor)?;
        place.checked_rem(self.threads)
    }

    /// Asks all connections. Those that are in use answer within moments.
    pub(super) fn ask(&self) {
        self.told.iter().for_each(|told| told.store(0, Relaxed));
        self.asked.fetch_add(1, Relaxed);
    }

    /// Ends the round; who answered moves, if that is good for all. Returns whether all is well as it is.
    pub(super) fn decide(&self) -> bool {
        let told: Vec<usize> = self.told.iter().map(|told| told.load(Relaxed)).collect();
        let is_parted = is_parted(&told, self.threads);
        if !is_parted && parts_evenly(&told, self.threads) {
            self.decided.store(self.asked.load(Relaxed), Relaxed);
        }
        is_parted
    }
}

/// Whether nearly all connections of each thread belong together, wherever that is: `told` has a row for each thread.
fn is_parted(told: &[usize], threads: usize) -> bool {
    told.chunks_exact(threads.max(1)).all(|row| {
        let most = row.iter().max().copied().unwrap_or_default();
        STRAYS_PART * (row.iter().sum::<usize>() - most) <= most
    })
}

/// Whether some have answered, and no thread would have much more than its share if they went where they belong.
fn parts_evenly(told: &[usize], threads: usize) -> bool {
    let all: usize = told.iter().sum();
    if all < TOLD_MIN {
        return false;
    }
    let of = |to| told.iter().skip(to).step_by(threads.max(1)).sum::<usize>();
    (0..threads).all(|to| of(to) * threads * 2 <= all * 3)
}

/// The thread that has a connection, and the one it has said it belongs to.
#[derive(Debug, Clone)]
pub(super) struct Home {
    thread: usize,
    processors: Arc<Processors>,
    /// The last round it has answered, and how.
    round: u32,
    belongs_to: usize,
}

impl Home {
    pub(super) fn new(thread: usize, processors: &Arc<Processors>) -> Home {
        let round = processors.asked.load(Relaxed);
        Home { thread, processors: Arc::clone(processors), round, belongs_to: thread }
    }

    /// The thread it belongs to.
    pub(super) fn belongs_to(&self) -> usize {
        self.belongs_to
    }

    /// Whether a connection at rest is to go to another thread.
    pub(super) fn is_elsewhere(&mut self, stream: &impl Arriving) -> bool {
        let asked = self.processors.asked.load(Relaxed);
        let is_decided = self.processors.decided.load(Relaxed) == asked;
        if self.round != asked {
            self.round = asked;
            self.belongs_to = self.thread;
            // Who comes to rest later has no part in it: what it would say is of another moment.
            if is_decided {
                return false;
            }
            let thread = stream.arrives_on().and_then(|number| self.processors.thread_of(number));
            self.belongs_to = thread.unwrap_or(self.thread);
            let place = self.thread * self.processors.threads + self.belongs_to;
            if let Some(told) = self.processors.told.get(place) {
                told.fetch_add(1, Relaxed);
            }
        }
        self.belongs_to != self.thread && is_decided
    }
}

/// A stream whose packets arrive on this processor.
#[cfg(test)]
pub(super) struct On(pub(super) usize);

#[cfg(test)]
impl Arriving for On {
    fn arrives_on(&self) -> Option<usize> {
        Some(self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_move_if_they_are_mixed_and_come_apart_evenly() {
        let moves =
            |told: &[usize], threads| !is_parted(told, threads) && parts_evenly(told, threads);
        for (told, expected, why) in [
            ([32, 0, 0, 32], false, "at home"),
            ([0, 32, 32, 0], false, "together, though elsewhere"),
            ([30, 2, 1, 31], true, "nearly all together, but not all"),
            ([31, 1, 1, 31], false, "as good as all together"),
            ([16, 16, 16, 16], true, "mixed"),
            ([4, 4, 0, 0], true, "all on one thread"),
            ([20, 12, 30, 2], false, "nearly all from one place"),
            ([0, 0, 0, 0], false, "nobody answered"),
            ([1, 1, 1, 0], false, "hardly anybody answered"),
        ] {
            assert_eq!(moves(&told, 2), expected, "{why}");
        }
        assert!(!moves(&[5], 1));
        assert!(moves(&[3, 3, 3, 3, 3, 3, 3, 3, 3], 3));
    }

    #[test]
    fn who_has_answered_moves_when_that_is_decided() {
        let processors = Arc::new(Processors::new(vec![4, 6], 2));
        let mut homes = [0, 0, 0, 0, 1, 1, 1, 1].map(|thread| Home::new(thread, &processors));
        let mut late = Home::new(0, &processors);
        let on = [4, 6, 4, 6, 4, 6, 4, 6].map(On);
        let look = |homes: &mut [Home; 8]| -> Vec<bool> {
            homes.iter_mut().zip(&on).map(|(home, on)| home.is_elsewhere(on)).collect()
        };
        assert_eq!(look(&mut homes), [false; 8], "nobody asked");
        processors.ask();
        assert_eq!(look(&mut homes), [false; 8], "nothing is decided");
        assert!(!processors.decide(), "they are mixed");
        assert_eq!(look(&mut homes), [false, true, false, true, true, false, true, false]);
        assert_eq!(homes.map(|home| home.belongs_to()), [0, 1, 0, 1, 0, 1, 0, 1]);
        assert!(!late.is_elsewhere(&On(6)), "it had no part in it");
        assert!(!late.is_elsewhere(&On(6)), "nor has it later");
    }

    #[test]
    fn a_connection_from_nowhere_stays() {
        let processors = Arc::new(Processors::new(vec![4, 6, 7], 2));
        assert_eq!(
            [4, 6, 7, 99].map(|n| processors.thread_of(n)),
            [Some(0), Some(1), Some(0), None]
        );
        let mut home = Home::new(1, &processors);
        processors.ask();
        home.is_elsewhere(&On(99));
        assert_eq!(home.belongs_to(), 1);
    }
}
