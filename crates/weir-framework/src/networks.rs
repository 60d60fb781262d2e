//! Sets of IP networks, as settings write them: `["10.0.0.0/8", "2001:db8::1"]`.

use std::fmt;
use std::net::IpAddr;

use ipnet::IpNet;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Most networks in a set: every request may be compared with each.
const NETWORKS_MAX: usize = 256;

/// A set of IP networks. An address without a prefix length is a network of one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Networks(Vec<IpNet>);

impl Networks {
    /// Parses networks in CIDR notation.
    ///
    /// # Errors
    /// A text is not a network, or there are too many; the error says which.
    pub fn parse<T: AsRef<str>>(texts: &[T]) -> Result<Networks, String> {
        if texts.len() > NETWORKS_MAX {
            return Err(format!("has more than {NETWORKS_MAX} networks"));
        }
        let parse = |text: &T| {
            let text = text.as_ref().trim();
            let single = || text.parse::<IpAddr>().map(IpNet::from);
            let wrong = |_| format!("has {text:?}, which is not a network like 10.0.0.0/8");
            text.parse::<IpNet>().or_else(|_| single()).map_err(wrong)
        };
        texts.iter().map(parse).collect::<Result<_, _>>().map(Networks)
    }

    /// Whether the address is in one of the networks. An IPv4 address mapped into IPv6 is the IPv4 address.
    #[must_use]
    pub fn contains(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        self.0.iter().any(|network| network.contains(&address))
    }

    /// The networks.
    #[must_use]
    pub fn as_slice(&self) -> &[IpNet] {
        &self.0
    }
}

impl fmt::Display for Networks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let texts: Vec<String> = self.0.iter().map(ToString::to_string).collect();
        f.write_str(&texts.join(", "))
    }
}

impl Serialize for Networks {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(ToString::to_string))
    }
}

impl<'de> Deserialize<'de> for Networks {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Networks, D::Error> {
        Networks::parse(&Vec::<String>::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_in_its_network_in_either_notation() {
        let networks = Networks::parse(&["10.0.0.0/8", "192.0.2.7", " 2001:db8::/32 "]).unwrap();
        let is_in = |text: &str| networks.contains(text.parse().unwrap());
        for inside in ["10.1.2.3", "::ffff:10.1.2.3", "192.0.2.7", "2001:db8:1::1"] {
            assert!(is_in(inside), "{inside}");
        }
        for outside in ["11.0.0.1", "192.0.2.8", "2001:db9::1", "::ffff:11.0.0.1"] {
            assert!(!is_in(outside), "{outside}");
        }
        assert!(!Networks::default().contains("10.0.0.1".parse().unwrap()));
    }

    #[test]
    fn a_wrong_network_is_named() {
        for wrong in ["", "10.0.0/8", "10.0.0.0/33", "localhost", "10.0.0.0/-1"] {
            let problem = Networks::parse(&["10.0.0.0/8", wrong]).unwrap_err();
            assert!(problem.starts_with(&format!("has {wrong:?}, which is not")), "{problem}");
        }
        assert!(Networks::parse(&vec!["::1"; NETWORKS_MAX + 1]).is_err());
    }
}
