//! The bound of connections per address: `connections_per_address_max`, and a part of the connections that are free, so that a few
//! addresses together do not take all of them.
//!
//! Of IPv6 a /64 network counts as one address ([`site`]). A trusted proxy has the connections
//! of all its clients, so it has no bound here. Neither has this machine: probes and a proxy beside the server must get in
//! whatever else comes from loopback.

use std::collections::HashMap;
use std::net::IpAddr;

use super::Settings;
use crate::client_address::site;
use crate::networks::Networks;

/// An address takes at most this part of the free connections.
const FREE_PART: usize = 4;
/// Connections that an address may have however few are free, like the six of a browser.
const ALWAYS: usize = 8;

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

    /// Counts a connection of `peer`, until [`Addresses::remove`]; none if the address has too many already for `free` connections.
    pub(super) fn add(&mut self, peer: IpAddr, free: usize) -> Option<Counted> {
        if self.trusted.contains(peer) || self.is_this_machine(peer) {
            return Some(Counted(None));
        }
        let key = site(peer);
        let open = self.open.get(&key).copied().unwrap_or_default();
        if open >= self.max.min(ALWAYS.max(free / FREE_PART)) {
            return None;
        }
        self.open.insert(key, open + 1);
        Some(Counted(Some(key)))
    }

    /// Whether `peer` is this machine, which has no bound.
    pub(super) fn is_this_machine(&self, peer: IpAddr) -> bool {
        peer.to_canonical().is_loopback() && !self.bounds_loopback
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

    const FREE: usize = 1_000;

    fn addresses() -> Addresses {
        Addresses::new(&Settings {
            connections_per_address_max: 20,
            trusted_proxies: Networks::parse(&["10.0.0.0/8"]).unwrap(),
            ..Settings::default()
        })
    }

    #[test]
    fn an_address_has_a_bounded_number_of_connections() {
        let mut addresses = Addresses { max: 2, ..addresses() };
        let mut add = |text: &str| addresses.add(text.parse().unwrap(), FREE);
        let first = add("192.0.2.1").unwrap();
        assert!(add("::ffff:192.0.2.1").is_some(), "the same address, mapped into IPv6");
        assert!(add("192.0.2.1").is_none());
        assert!(add("192.0.2.2").is_some());
        assert!(add("2001:db8::1").is_some() && add("2001:db8::2").is_some());
        assert!(add("2001:db8::3").is_none(), "the same network");
        assert!(add("2001:db8:0:1::1").is_some());
        addresses.remove(first);
        assert!(addresses.add("192.0.2.1".parse().unwrap(), FREE).is_some());
    }

    #[test]
    fn an_address_gets_a_part_of_the_free_connections() {
        for (free, expected) in [(FREE, 20), (80, 20), (79, 19), (40, 10), (32, 8), (1, 8), (0, 8)]
        {
            let mut addresses = addresses();
            let peer = "192.0.2.1".parse().unwrap();
            let count = (0..100).take_while(|_| addresses.add(peer, free).is_some()).count();
            assert_eq!(count, expected, "of {free}");
        }
    }

    #[test]
    fn many_addresses_leave_connections_for_others() {
        let all = 1_000;
        let mut addresses = Addresses { max: all, ..addresses() };
        let mut open = 0;
        for number in 0..16 {
            let peer = std::net::Ipv4Addr::from_bits(0xc000_0200 + number).into();
            while addresses.add(peer, all - open).is_some() {
                open += 1;
            }
        }
        assert!(open < all, "{open}");
    }

    #[test]
    fn a_trusted_proxy_and_this_machine_have_no_bound_and_nothing_is_remembered_of_them() {
        let mut addresses = addresses();
        for peer in ["10.1.2.3", "127.0.0.1", "::1", "::ffff:127.0.0.1"] {
            for _ in 0..10 {
                assert!(addresses.add(peer.parse().unwrap(), 0).is_some(), "{peer}");
            }
        }
        assert!(addresses.open.is_empty());
    }

    #[test]
    fn an_address_without_connections_takes_no_memory() {
        let mut addresses = addresses();
        let counted = addresses.add("192.0.2.1".parse().unwrap(), FREE).unwrap();
        addresses.remove(counted);
        assert!(addresses.open.is_empty());
    }
}
