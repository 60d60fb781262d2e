//! Which addresses webhooks may reach: public ones, and those that the operator allows. Anyone who may set a webhook could
//! otherwise make the server send requests inside its own network.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::{IpNet, Ipv4Net, Ipv6Net};
use url::{Host, Url};

/// IPv4 networks that are not public, by the registry of RFC 6890.
const NOT_PUBLIC_V4: [Ipv4Net; 15] = [
    v4([0, 0, 0, 0], 8),
    v4([10, 0, 0, 0], 8),
    v4([100, 64, 0, 0], 10),
    v4([127, 0, 0, 0], 8),
    v4([169, 254, 0, 0], 16),
    v4([172, 16, 0, 0], 12),
    v4([192, 0, 0, 0], 24),
    v4([192, 0, 2, 0], 24),
    v4([192, 88, 99, 0], 24),
    v4([192, 168, 0, 0], 16),
    v4([198, 18, 0, 0], 15),
    v4([198, 51, 100, 0], 24),
    v4([203, 0, 113, 0], 24),
    v4([224, 0, 0, 0], 4),
    v4([240, 0, 0, 0], 4),
];
/// Public IPv6 addresses are in here.
const GLOBAL_V6: Ipv6Net = v6([0x2000, 0], 3);
/// Networks in there that are not public: protocols with Teredo, documentation, 6to4, documentation.
const NOT_PUBLIC_V6: [Ipv6Net; 4] =
    [v6([0x2001, 0], 23), v6([0x2001, 0xdb8], 32), v6([0x2002, 0], 16), v6([0x3fff, 0], 20)];
/// NAT64: the last 32 bits are the IPv4 address that a packet reaches.
const NAT64: Ipv6Net = v6([0x64, 0xff9b], 96);
const LOCALHOST: &str = "localhost";

const fn v4(address: [u8; 4], prefix: u8) -> Ipv4Net {
    let [a, b, c, d] = address;
    Ipv4Net::new_assert(Ipv4Addr::new(a, b, c, d), prefix)
}

const fn v6(address: [u16; 2], prefix: u8) -> Ipv6Net {
    let [a, b] = address;
    Ipv6Net::new_assert(Ipv6Addr::new(a, b, 0, 0, 0, 0, 0, 0), prefix)
}

/// The addresses that webhooks may reach.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AddressPolicy {
    allowed: Vec<IpNet>,
}

impl AddressPolicy {
    /// Public addresses, and those in `allowed`.
    #[must_use]
    pub fn new(allowed: Vec<IpNet>) -> AddressPolicy {
        AddressPolicy { allowed }
    }

    /// Whether webhooks may reach an address. An IPv4 address in IPv6 notation is judged as the IPv4 address.
    #[must_use]
    pub fn permits(&self, address: IpAddr) -> bool {
        let address = plain(address);
        is_public(address) || self.allowed.iter().any(|network| network.contains(&address))
    }

    /// Whether webhooks may reach the host of a URL, as far as the URL says. A name is looked up at delivery.
    #[must_use]
    pub fn permits_host(&self, url: &Url) -> bool {
        match url.host() {
            Some(Host::Ipv4(address)) => self.permits(address.into()),
            Some(Host::Ipv6(address)) => self.permits(address.into()),
            Some(Host::Domain(name)) if is_localhost(name) => {
                self.permits(Ipv4Addr::LOCALHOST.into()) || self.permits(Ipv6Addr::LOCALHOST.into())
            }
            Some(Host::Domain(_)) => true,
            None => false,
        }
    }
}

/// The address that a packet to `address` reaches.
fn plain(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) if NAT64.contains(&address) => {
            let [.., a, b, c, d] = address.octets();
            Ipv4Addr::new(a, b, c, d).into()
        }
        address => address,
    }
}

fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => !NOT_PUBLIC_V4.iter().any(|network| network.contains(&address)),
        IpAddr::V6(address) => {
            let is_special = NOT_PUBLIC_V6.iter().any(|network| network.contains(&address));
            GLOBAL_V6.contains(&address) && !is_special
        }
    }
}

/// RFC 6761: `localhost` and the names below it are loopback addresses.
fn is_localhost(name: &str) -> bool {
    let name = name.strip_suffix('.').unwrap_or(name);
    let below = name.strip_suffix(LOCALHOST);
    below.is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn addresses_that_are_not_public_are_refused_in_every_notation() {
        let policy = AddressPolicy::default();
        for inside in [
            "0.0.0.0",
            "10.1.2.3",
            "100.64.0.1",
            "100.127.255.255",
            "127.0.0.1",
            "127.255.255.254",
            "169.254.169.254",
            "172.16.0.1",
            "172.31.255.255",
            "192.0.0.8",
            "192.0.2.1",
            "192.88.99.1",
            "192.168.1.1",
            "198.19.0.1",
            "198.51.100.1",
            "203.0.113.1",
            "224.0.0.1",
            "239.255.255.255",
            "240.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::127.0.0.1",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "64:ff9b::10.0.0.1",
            "64:ff9b::169.254.169.254",
            "64:ff9b:1::8.8.8.8",
            "100::1",
            "2001::1",
            "2001:2::1",
            "2001:db8::1",
            "2002:7f00:1::",
            "2002:808:808::1",
            "3fff::1",
            "5f00::1",
            "fc00::1",
            "fdff::1",
            "fe80::1",
            "fec0::1",
            "ff02::1",
        ] {
            assert!(!policy.permits(address(inside)), "{inside}");
        }
        for public in [
            "8.8.8.8",
            "100.128.0.1",
            "172.32.0.1",
            "192.0.1.1",
            "::ffff:8.8.8.8",
            "64:ff9b::8.8.8.8",
            "2001:4860:4860::8888",
            "2606:4700::1",
        ] {
            assert!(policy.permits(address(public)), "{public}");
        }
    }

    #[test]
    fn allowed_networks_are_reached_and_no_others() {
        let policy = AddressPolicy::new(vec!["10.0.0.0/8".parse().unwrap()]);
        for inside in ["10.1.2.3", "::ffff:10.1.2.3", "64:ff9b::10.1.2.3"] {
            assert!(policy.permits(address(inside)), "{inside}");
        }
        assert!(!policy.permits(address("127.0.0.1")));
        assert!(!policy.permits(address("2002:a01:203::1")));
    }

    #[test]
    fn the_host_of_a_url_is_judged_as_connections_read_it() {
        let policy = AddressPolicy::default();
        let permits = |text: &str| policy.permits_host(&Url::parse(text).unwrap());
        for inside in [
            "http://127.0.0.1/",
            "http://127.1/",
            "http://2130706433/",
            "http://0x7f.0.0.1/",
            "http://0177.0.0.1/",
            "http://[::1]/",
            "http://[::ffff:7f00:1]/",
            "http://localhost:80/",
            "http://LOCALHOST./",
            "http://a.localhost/",
            "http://169.254.169.254./latest",
        ] {
            assert!(!permits(inside), "{inside}");
        }
        for name in ["https://example.com/", "https://notlocalhost/", "https://8.8.8.8/"] {
            assert!(permits(name), "{name}");
        }
        let local = AddressPolicy::new(vec!["127.0.0.0/8".parse().unwrap()]);
        assert!(local.permits_host(&Url::parse("http://localhost/").unwrap()));
    }
}
