//! The requests of a backend, as the source document counts them.

use serde_json::json;

use super::seed::{self, PLATFORM, Volumes};
use crate::measure::scatter;

/// A class of requests that the source document has a rate for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    Usage,
    SignIn,
    Lookup,
    Feed,
}

impl Class {
    pub(super) const ALL: [Class; 4] = [Class::Usage, Class::SignIn, Class::Lookup, Class::Feed];

    pub(super) fn name(self) -> &'static str {
        match self {
            Class::Usage => "rate-limit checks",
            Class::SignIn => "sign-ins",
            Class::Lookup => "problem lookups",
            Class::Feed => "public feed",
        }
    }

    /// Requests per minute.
    pub(super) fn per_minute(self) -> u64 {
        match self {
            Class::Usage => 10_000,
            Class::SignIn => 5_000,
            Class::Lookup => 1_000,
            Class::Feed => 800,
        }
    }

    /// The class of a request. Of each 84 in a row, every class has its share, scattered.
    pub(super) fn of(number: u64) -> Class {
        // 37 has no factor in common with 84, so all places are taken once.
        match number * 37 % 84 {
            0..50 => Class::Usage,
            50..75 => Class::SignIn,
            75..80 => Class::Lookup,
            _ => Class::Feed,
        }
    }
}

/// All requests per minute.
pub(super) fn per_minute() -> u64 {
    Class::ALL.iter().map(|class| class.per_minute()).sum()
}

/// One request: its bytes, and the user whose usage it takes.
pub(super) struct Request {
    pub(super) class: Class,
    pub(super) bytes: Vec<u8>,
    pub(super) user: Option<u64>,
}

/// Makes requests.
pub(super) struct Requests {
    host: String,
    /// The headers that all requests have, those of a common client.
    headers: String,
    volumes: Volumes,
}

impl Requests {
    pub(super) fn new(origin: &str, token: &str, volumes: Volumes) -> Requests {
        let host = origin.trim_start_matches("http://").to_owned();
        let headers = format!(
            "host: {host}\r\nauthorization: Bearer {token}\r\naccept: application/json\r\n\
             accept-encoding: gzip, deflate\r\nuser-agent: practice-backend/1.0\r\n"
        );
        Requests { host, headers, volumes }
    }

    pub(super) fn host(&self) -> &str {
        &self.host
    }

    /// The request of this number, for a random user or problem.
    pub(super) fn get(&self, number: u64) -> Request {
        let (class, random) = (Class::of(number), scatter(7, number));
        let user = random % self.volumes.users;
        let (bytes, user) = match class {
            Class::Usage => (self.usage(user, random), Some(user)),
            // Half of the users sign in with Google.
            Class::SignIn if random & (1 << 40) == 0 => {
                (self.read(&format!("users?email={}", seed::email(user))), None)
            }
            Class::SignIn => {
                (self.read(&format!("users?google_id={}", seed::google_id(user))), None)
            }
            Class::Lookup => {
                let problem = seed::problem_id(random % self.volumes.problems);
                (self.read(&format!("problems/{PLATFORM}/{problem}")), None)
            }
            Class::Feed => (self.read("feed?limit=20"), None),
        };
        Request { class, bytes, user }
    }

    /// One in ten asks for a hint, the others for an execution.
    fn usage(&self, user: u64, random: u64) -> Vec<u8> {
        let action = if (random >> 32).is_multiple_of(10) { "hint" } else { "execution" };
        let problem_id = seed::problem_id(random % self.volumes.problems);
        let metadata = json!({"language": "python", "client": "web"});
        let body = json!({"action": action, "problem_id": problem_id, "metadata": metadata});
        let (body, user) = (body.to_string(), seed::user_id(user));
        let (headers, length) = (&self.headers, body.len());
        format!(
            "POST /v1/practice/users/{user}/usage HTTP/1.1\r\n{headers}content-type: \
             application/json\r\ncontent-length: {length}\r\n\r\n{body}"
        )
        .into_bytes()
    }

    fn read(&self, path: &str) -> Vec<u8> {
        format!("GET /v1/practice/{path} HTTP/1.1\r\n{}\r\n", self.headers).into_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_classes_have_their_shares() {
        for class in Class::ALL {
            let count = (0..84).filter(|number| Class::of(*number) == class).count() as u64;
            assert_eq!(count * per_minute(), class.per_minute() * 84, "{class:?}");
        }
    }
}
