//! Resolves the limits that apply to an entity on a resource.

use std::sync::Arc;

use weir_table::{Backend, Consistency, Get};

use super::cache::StoredLevel;
use super::level::LevelRef;
use super::{OnUnavailable, Resolved, Source, item};
use crate::bucket::Limit;
use crate::error::{Error, Result};
use crate::ids::{EntityId, Resource};
use crate::limiter::Namespace;

/// The levels in order of precedence.
const SOURCES: [Source; 4] =
    [Source::Entity, Source::EntityDefault, Source::Resource, Source::System];

/// Checks that no level has an attribute that this version does not know: it may mean that other limits apply, or none.
fn check_known(levels: &[LevelRef<'_>; 4], stored: &[StoredLevel; 4]) -> Result<()> {
    for (level, stored) in levels.iter().zip(stored) {
        if let Some(Err(unknown)) = stored {
            return Err(unknown.of(*level));
        }
    }
    Ok(())
}

/// The limits of the first level that has any, and the first `on_unavailable`. None, if there are no limits. The levels
/// were checked: see [`check_known`].
pub(super) fn resolve_levels(
    stored: &[StoredLevel; 4],
    caller_limits: Option<&[Limit]>,
) -> Option<Resolved> {
    let known = |(stored, from): (&'_ StoredLevel, Source)| {
        let config = stored.as_ref()?.as_ref().ok()?;
        Some((Arc::clone(config), from))
    };
    let levels = || stored.iter().zip(SOURCES).filter_map(known);
    let stored = levels().find(|(config, _)| !config.limits.is_empty());
    let (limits, limits_from) = match &stored {
        Some((config, from)) => (config.limits.as_slice(), *from),
        None => (caller_limits.filter(|caller_limits| !caller_limits.is_empty())?, Source::Caller),
    };
    let policy = levels().find_map(|(config, from)| Some((config.on_unavailable?, from)));
    let (on_unavailable, on_unavailable_from) =
        policy.unwrap_or((OnUnavailable::Block, Source::BuiltIn));
    Some(Resolved { limits: limits.to_vec(), limits_from, on_unavailable, on_unavailable_from })
}

impl<B: Backend> Namespace<B> {
    /// Resolves the config of an entity on a resource: from the cache, and with one eventually consistent batch get of the
    /// levels that are not cached. `caller_limits` apply if no level has limits.
    ///
    /// # Errors
    /// No limits apply ([`Error::NoLimits`]), or the store fails.
    pub async fn resolve(
        &self,
        entity: &EntityId,
        resource: &Resource,
        caller_limits: Option<&[Limit]>,
    ) -> Result<Resolved> {
        Ok(self.resolve_and_read(entity, resource, caller_limits, false).await?.0)
    }

    /// Resolves as [`Self::resolve`] does. If a level has to be read, `all_or_none` reads the cached ones too. Returns also
    /// whether all levels were read just now.
    pub(crate) async fn resolve_and_read(
        &self,
        entity: &EntityId,
        resource: &Resource,
        caller_limits: Option<&[Limit]>,
        all_or_none: bool,
    ) -> Result<(Resolved, bool)> {
        let now_ms = self.limiter.now_ms();
        let cache = &self.limiter.inner.configs;
        let levels = LevelRef::lookup_order(&self.id, entity, resource);
        let mut found = cache.fresh(&levels, now_ms);
        cache.record_lookup(&found);
        if all_or_none && found.iter().any(Option::is_none) {
            found = Default::default();
        }
        let missing = || {
            levels
                .iter()
                .zip(0..)
                .filter(|(_, place)| found.get(*place).is_some_and(Option::is_none))
        };
        let (unknown, places): (Vec<_>, Vec<usize>) = missing().unzip();
        if !unknown.is_empty() {
            let read = self.read_levels(&unknown, Consistency::Eventual, now_ms).await?;
            for (place, stored) in places.iter().zip(read) {
                if let Some(found) = found.get_mut(*place) {
                    *found = Some(stored);
                }
            }
        }
        let stored = found.map(Option::flatten);
        check_known(&levels, &stored)?;
        let resolved = resolve_levels(&stored, caller_limits);
        let resolved = resolved.ok_or_else(|| no_limits(entity, resource))?;
        Ok((resolved, places.len() == levels.len()))
    }

    /// Resolves from the cache alone. None, if one of the four levels is not cached or too old.
    #[must_use]
    pub fn resolve_cached(
        &self,
        entity: &EntityId,
        resource: &Resource,
        caller_limits: Option<&[Limit]>,
    ) -> Option<Resolved> {
        let now_ms = self.limiter.now_ms();
        let cache = &self.limiter.inner.configs;
        let levels = LevelRef::lookup_order(&self.id, entity, resource);
        let found = cache.fresh(&levels, now_ms);
        if found.iter().any(Option::is_none) {
            // The lookup in the store that follows records the misses.
            return None;
        }
        cache.record_lookup(&found);
        let stored = found.map(Option::flatten);
        // The lookup that follows returns the error.
        check_known(&levels, &stored).ok()?;
        resolve_levels(&stored, caller_limits)
    }

    /// Resolves from the store, strongly consistent, and caches the levels.
    ///
    /// # Errors
    /// No limits apply ([`Error::NoLimits`]), or the store fails.
    pub(crate) async fn resolve_from_store(
        &self,
        entity: &EntityId,
        resource: &Resource,
        caller_limits: Option<&[Limit]>,
    ) -> Result<Resolved> {
        let levels = LevelRef::lookup_order(&self.id, entity, resource);
        let now_ms = self.limiter.now_ms();
        let read = self.read_levels(&levels.each_ref(), Consistency::Strong, now_ms).await?;
        let stored = <[StoredLevel; 4]>::try_from(read).unwrap_or_default();
        check_known(&levels, &stored)?;
        resolve_levels(&stored, caller_limits).ok_or_else(|| no_limits(entity, resource))
    }

    /// Reads levels with one batch get, in order, and caches them. No level may occur twice.
    pub(super) async fn read_levels(
        &self,
        levels: &[&LevelRef<'_>],
        consistency: Consistency,
        now_ms: i64,
    ) -> Result<Vec<StoredLevel>> {
        let cache = &self.limiter.inner.configs;
        let epoch = cache.epoch();
        let get = |level: &&LevelRef<'_>| Get {
            consistency,
            ..Get::new(self.limiter.table(), level.key())
        };
        let gets: Vec<Get> = levels.iter().map(get).collect();
        let items = self.limiter.store().batch_get(&gets).await?;
        let stored: Vec<StoredLevel> =
            items.into_iter().map(|item| Some(item::decode(&item?).map(Arc::new))).collect();
        for (level, stored) in levels.iter().zip(&stored) {
            cache.insert(**level, stored.clone(), now_ms, epoch);
        }
        Ok(stored)
    }
}

fn no_limits(entity: &EntityId, resource: &Resource) -> Error {
    Error::NoLimits { entity: entity.to_string(), resource: resource.to_string() }
}

#[cfg(test)]
mod tests {
    use super::super::LevelConfig;
    use super::*;
    use crate::ids::LimitName;

    fn limits(capacity: u64) -> Vec<Limit> {
        vec![Limit::per_minute(LimitName::new("rpm").unwrap(), capacity)]
    }

    /// Every combination of levels with limits, with `on_unavailable`, or missing.
    #[test]
    fn the_first_level_with_limits_wins_and_on_unavailable_is_inherited_separately() {
        for mask in 0..256_u32 {
            let bit = |place: u32| mask & (1 << place) != 0;
            let stored: [StoredLevel; 4] = std::array::from_fn(|place| {
                let place = u32::try_from(place).unwrap();
                let (has_limits, has_policy) = (bit(place), bit(place + 4));
                let config = LevelConfig {
                    limits: if has_limits { limits(u64::from(place) + 1) } else { Vec::new() },
                    on_unavailable: has_policy.then_some(OnUnavailable::Allow),
                    ..LevelConfig::default()
                };
                (has_limits || has_policy).then(|| Ok(Arc::new(config)))
            });
            let first = (0..4).find(|place| bit(*place));
            let policy = (0..4_usize).find(|place| bit(u32::try_from(*place).unwrap() + 4));
            for caller_limits in [None, Some(limits(9))] {
                let resolved = resolve_levels(&stored, caller_limits.as_deref());
                let Some(resolved) = resolved else {
                    assert!(first.is_none() && caller_limits.is_none(), "{mask:b}");
                    continue;
                };
                let from = first.map_or(Source::Caller, |place| SOURCES[place as usize]);
                let capacity = first.map_or(9, |place| u64::from(place) + 1);
                assert_eq!((resolved.limits_from, resolved.limits), (from, limits(capacity)));
                let (policy, from) = policy
                    .map_or((OnUnavailable::Block, Source::BuiltIn), |place| {
                        (OnUnavailable::Allow, SOURCES[place])
                    });
                assert_eq!((resolved.on_unavailable, resolved.on_unavailable_from), (policy, from));
            }
        }
    }

    #[test]
    fn empty_caller_limits_are_no_limits() {
        assert_eq!(resolve_levels(&[None, None, None, None], Some(&[])), None);
    }
}
