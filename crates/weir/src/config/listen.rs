//! Validates listen addresses.

/// The problem of a `HOST:PORT` address, if it has one.
pub(super) fn problem(text: &str) -> Option<String> {
    let Some((host, port)) = text.rsplit_once(':') else {
        return Some(format!("{text:?} has no port; write HOST:PORT, like 127.0.0.1:8080"));
    };
    if port.parse::<u16>().is_err() {
        return Some(format!("{port:?} is not a port; a port is a number from 0 to 65535"));
    }
    let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
    match bare {
        Some(inside) if inside.parse::<std::net::Ipv6Addr>().is_ok() => None,
        None if host.contains(':') => Some(format!(
            "{host:?} is not a host; write an IPv6 address in brackets, like [::1]:8080"
        )),
        None if !host.is_empty() && !host.contains(char::is_whitespace) => None,
        _ => Some(format!("{host:?} is not a host; write HOST:PORT, like 127.0.0.1:8080")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_have_a_host_and_a_port() {
        for good in ["127.0.0.1:0", "localhost:8080", "[::1]:65535", "0.0.0.0:80"] {
            assert_eq!(problem(good), None, "{good}");
        }
        for (bad, says) in [
            ("localhost", "has no port"),
            ("localhost:http", "is not a port"),
            ("localhost:65536", "is not a port"),
            ("::1:8080", "in brackets"),
            ("[nothing]:1", "is not a host"),
            (":8080", "is not a host"),
            ("a b:80", "is not a host"),
        ] {
            let message = problem(bad).unwrap();
            assert!(message.contains(says), "{bad}: {message}");
        }
    }
}
