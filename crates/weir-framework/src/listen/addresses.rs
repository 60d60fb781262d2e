//! The bound of connections per address.
//!
//! Of IPv6 a /64 network counts as one address ([`site`]). A trusted proxy has the connections
//! of all its clients, so it has no bound here. Neither has this machine: probes and a proxy beside the server must get in
//! whatever else comes from loopback.

use std::collections::HashMap;
use std::net::IpAddr;

use super::Settings;
use crate::client_address::site;
use crate::networks::Networks;

/// The number of open connections of each address.
#[derive(Debug)]
pub(super) struct Addresses {
    open: HashMap<IpAddr, usize>,
    max: usize,
    trusted: Networks,
    bounds_loopback: bool,
}

/// A connection that counts for its address; none behind a trusted proxy or of this machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Counted(Option<IpAddr>);

impl Addresses {
    pub(super) fn new(settings: &Settings) -> Addresses {
        Addresses {
            open: HashMap::new(),
            max: settings.connections_per_address_max,
            trusted: settings.trusted_proxies.clone(),
            bounds_loopback: settings.bounds_loopback,
        }
    }

    /// Counts a connection of `peer`, until [`Addresses::remove`]; none if the address has too many already.
    pub(super) fn add(&mut self, peer: IpAddr) -> Option<Counted> {
        let peer = peer.to_canonical();
        if self.trusted.contains(peer) || (peer.is_loopback() && !self.bounds_loopback) {
            return Some(Counted(None));
        }
        let key = site(peer);
        let open = self.open.entry(key).or_default();
        if *open >= self.max {
            return None;
        }
        *open += 1;
        Some(Counted(Some(key)))
    }

    /// A connection has ended.
    pub(super) fn remove(&mut self, Counted(key): Counted) {
        let Some(key) = key else { return };
        if let Some(open) = self.open.get_mut(&key) {
            *open = open.saturating_sub(1);
            if *open == 0 {
                self.open.remove(&key);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn addresses() -> Addresses {
        Addresses::new(&Settings {
            connections_per_address_max: 2,
            trusted_proxies: Networks::parse(&["10.0.0.0/8"]).unwrap(),
            ..Settings::default()
        })
    }

    #[test]
    fn an_address_has_a_bounded_number_of_connections() {
        let mut addresses = addresses();
        let mut add = |text: &str| addresses.add(text.parse().unwrap());
        let first = add("192.0.2.1").unwrap();
        assert!(add("::ffff:192.0.2.1").is_some(), "the same address, mapped into IPv6");
        assert!(add("192.0.2.1").is_none());
        assert!(add("192.0.2.2").is_some());
        assert!(add("2001:db8::1").is_some() && add("2001:db8::2").is_some());
        assert!(add("2001:db8::3").is_none(), "the same network");
        assert!(add("2001:db8:0:1::1").is_some());
        addresses.remove(first);
        assert!(addresses.add("192.0.2.1".parse().unwrap()).is_some());
    }

    #[test]
    fn a_trusted_proxy_and_this_machine_have_no_bound_and_nothing_is_remembered_of_them() {
        let mut addresses = addresses();
        for peer in ["10.1.2.3", "127.0.0.1", "::1", "::ffff:127.0.0.1"] {
            for _ in 0..10 {
                assert!(addresses.add(peer.parse().unwrap()).is_some(), "{peer}");
            }
        }
        assert!(addresses.open.is_empty());
    }

    #[test]
    fn an_address_without_connections_takes_no_memory() {
        let mut addresses = addresses();
        let counted = addresses.add("192.0.2.1".parse().unwrap()).unwrap();
        addresses.remove(counted);
        assert!(addresses.open.is_empty());
    }
}
