//! Looking without taking.

use std::collections::BTreeMap;

use weir_table::Backend;

use super::ask::{Ask, amounts_of};
use super::refusal;
use super::seat::Seat;
use super::slow::Who;
use super::{Acquire, Acquired, Availability, Granted, LimitStatus};
use crate::bounds::LEASE_TTL_DEFAULT_MS;
use crate::bucket;
use crate::error::Result;
use crate::ids::{EntityId, LimitName, Resource};
use crate::lease::OnExpiry;
use crate::limiter::Namespace;

impl<B: Backend> Namespace<B> {
    /// What is available now. `amounts` are what the waiting times are for (one token of each limit when empty). Takes
    /// nothing.
    ///
    /// # Errors
    /// An amount is wrong, nobody has limits for it, or the store fails.
    pub async fn availability(
        &self,
        entity: &EntityId,
        resource: &Resource,
        amounts: &BTreeMap<LimitName, i64>,
    ) -> Result<Availability> {
        let request = Acquire {
            entity: entity.clone(),
            resource: resource.clone(),
            consume: amounts.clone(),
            limits: None,
            lease_ttl_ms: LEASE_TTL_DEFAULT_MS,
            on_expiry: OnExpiry::Keep,
            dry_run: true,
        };
        if amounts.is_empty() {
            let resolved = self.resolve(entity, resource, None).await?;
            let one = resolved.limits.iter().map(|limit| (limit.name.clone(), 1)).collect();
            let request = Acquire { consume: one, ..request };
            let ask = Ask::new(&self.id, &request, self.limiter.now_ms())?;
            return Ok(Availability { limits: self.found(&ask).await? });
        }
        amounts_of("amount", amounts.iter().map(|(name, amount)| (name, *amount)))?;
        let ask = Ask::new(&self.id, &request, self.limiter.now_ms())?;
        Ok(Availability { limits: self.found(&ask).await? })
    }

    /// What an acquire would answer.
    pub(super) async fn look(&self, ask: &Ask<'_>) -> Result<Acquired> {
        let limits = self.found(ask).await?;
        if limits.iter().any(|limit| limit.deficit_milli > 0) {
            return Ok(Acquired::Refused(refusal::refused(limits)));
        }
        Ok(Acquired::Granted(Granted { grant: self.grant(ask, Vec::new()), limits }))
    }

    async fn found(&self, ask: &Ask<'_>) -> Result<Vec<LimitStatus>> {
        let house = self.house(ask.now_ms);
        let mut seats = self.seats(ask, Who::Family, false).await?;
        if seats.iter().any(Seat::has_other_limits) {
            seats = self.seats(ask, Who::Family, true).await?;
        }
        let status = |seat: &Seat| {
            let now: Vec<_> = seat.now_all(house);
            let whole = bucket::together(&now)?;
            Some(refusal::statuses(&seat.id.entity, &whole, &seat.amounts))
        };
        Ok(seats.iter().filter_map(status).flatten().collect())
    }
}
