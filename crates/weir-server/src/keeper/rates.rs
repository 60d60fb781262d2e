//! How often the keeper may be asked, by whom, for what.
//!
//! Kept with our own limiter ([`Allowance`]). Clients are counted by their id, those who set orgs up by their key, whoever
//! wants a token also by the address they come from, and all of them together: a password that is guessed costs a
//! quarter of a second of a processor, and that shall not be everybody's.

use crate::keeper::error::KeeperError;
use std::net::IpAddr;

use weir_keeper::ids::{OrgId, Scope};

use super::Settings;
use super::place::Asker;
use crate::allowance::{Allowance, Rate};
use weir_framework::app::App;
use weir_framework::{ApiError, Code};

const MINUTE: u64 = 60;
const HOUR: u64 = 3_600;
/// Who is counted where all are counted together.
const EVERYBODY: &str = "everybody";
/// Who is counted where a client id is none.
const NOBODY: &str = "nobody";
/// Bits of an IPv6 address that one site has.
const SITE_BITS: u32 = 64;

/// What is left of each rate.
#[derive(Debug)]
pub(crate) struct Allowances {
    token_per_client: Option<Allowance>,
    token_per_address: Option<Allowance>,
    token_in_all: Option<Allowance>,
    refresh: Option<Allowance>,
    aggregates: Option<Allowance>,
    selection: Option<Allowance>,
    writes: Option<Allowance>,
    rotations: Option<Allowance>,
    submissions: Option<Allowance>,
}

impl Allowances {
    pub(crate) fn new(settings: &Settings) -> Allowances {
        let every = |name, quota: u64, period_secs| {
            (quota > 0).then(|| Allowance::new(Rate { name, quota, period_secs }))
        };
        Allowances {
            token_per_client: every("token", settings.token_rate, MINUTE),
            token_per_address: every("token-address", settings.token_address_rate, MINUTE),
            token_in_all: every("token-all", settings.token_total_rate, MINUTE),
            refresh: every("refresh", settings.refresh_rate, MINUTE),
            aggregates: every("aggregates", settings.aggregates_rate, MINUTE),
            selection: every("selection", settings.selection_rate, MINUTE),
            writes: every("writes", settings.write_rate, HOUR),
            rotations: every("rotate", settings.rotate_rate, HOUR),
            submissions: every("submissions", settings.submission_rate, 1),
        }
    }

    /// A client asks for tokens. The address comes first: who guesses from one place spends nothing of others.
    pub(crate) async fn token(
        &self,
        app: &App,
        client_id: &str,
        from: Option<IpAddr>,
    ) -> Result<(), KeeperError> {
        if let Some(address) = from {
            spend(&self.token_per_address, app, &site(address), 1).await?;
        }
        // Names that can be nobody's are counted as one, so that making them up fills no table.
        let who = Scope::of_client(client_id).map_or(NOBODY, |_| client_id);
        spend(&self.token_per_client, app, who, 1).await?;
        spend(&self.token_in_all, app, EVERYBODY, 1).await
    }

    /// A client wants a new access token.
    pub(crate) async fn refresh(&self, app: &App, client_id: &str) -> Result<(), KeeperError> {
        spend(&self.refresh, app, client_id, 1).await
    }

    /// A client looks at totals.
    pub(crate) async fn aggregates(&self, app: &App, asker: &Asker) -> Result<(), KeeperError> {
        match asker.is_client() {
            true => spend(&self.aggregates, app, asker.name(), 1).await,
            false => Ok(()),
        }
    }

    /// A client asks which model to use.
    pub(crate) async fn selection(&self, app: &App, asker: &Asker) -> Result<(), KeeperError> {
        match asker.is_client() {
            true => spend(&self.selection, app, asker.name(), 1).await,
            false => Ok(()),
        }
    }

    /// Somebody sets an org or an app up.
    pub(crate) async fn write(&self, app: &App, asker: &Asker) -> Result<(), KeeperError> {
        match asker.is_local() {
            false => spend(&self.writes, app, asker.name(), 1).await,
            true => Ok(()),
        }
    }

    /// Somebody rotates a secret.
    pub(crate) async fn rotate(&self, app: &App, asker: &Asker) -> Result<(), KeeperError> {
        match asker.is_local() {
            false => spend(&self.rotations, app, asker.name(), 1).await,
            true => Ok(()),
        }
    }

    /// So many submissions of an org, whoever of it they come from.
    pub(crate) async fn submissions(
        &self,
        app: &App,
        org: &OrgId,
        count: usize,
    ) -> Result<(), KeeperError> {
        let count = u64::try_from(count).unwrap_or(u64::MAX);
        spend(&self.submissions, app, org.as_str(), count).await
    }
}

async fn spend(
    allowance: &Option<Allowance>,
    app: &App,
    who: &str,
    count: u64,
) -> Result<(), KeeperError> {
    match allowance {
        Some(allowance) => Ok(allowance.spend(app, who, count).await.map_err(ApiError::from)?),
        None => Ok(()),
    }
}

/// The allowances that the server opened.
pub(crate) fn allowances(app: &App) -> Result<&Allowances, KeeperError> {
    let missing = || ApiError::new(Code::INTERNAL_ERROR, "the keeper is not open");
    Ok(app.kept().ok_or_else(missing)?)
}

/// An address as it is counted. Whoever has one of IPv6 has the whole site's.
fn site(address: IpAddr) -> String {
    match address {
        IpAddr::V4(address) => address.to_string(),
        IpAddr::V6(address) => {
            let bits = u128::from(address) >> (u128::BITS - SITE_BITS);
            format!("ip6-{bits:016x}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_one_site_count_as_one() {
        let site = |text: &str| site(text.parse().unwrap());
        assert_eq!(site("192.0.2.7"), "192.0.2.7");
        assert_eq!(site("2001:db8:1:2::1"), site("2001:db8:1:2:ffff::9"));
        assert_ne!(site("2001:db8:1:2::1"), site("2001:db8:1:3::1"));
    }
}
