//! Which limits hold for an entity on a resource.

use std::sync::Arc;

use weir_table::{Backend, Consistency, Get};

use super::cache::Said;
use super::level::LevelRef;
use super::{OnUnavailable, Resolved, Source, item};
use crate::bucket::Limit;
use crate::error::{Error, Result};
use crate::ids::{EntityId, Resource};
use crate::limiter::Namespace;

/// What the levels are called, in the order they are asked.
const SOURCES: [Source; 4] =
    [Source::Entity, Source::EntityDefault, Source::Resource, Source::System];

/// The limits of the first level that has any, whole, and the first word on what to do when the store cannot be reached. Nothing
/// when nobody has limits.
pub(super) fn choose(said: &[Said; 4], own: Option<&[Limit]>) -> Option<Resolved> {
    let levels =
        || said.iter().zip(SOURCES).filter_map(|(said, from)| Some((said.as_ref()?, from)));
    let stored = levels().find(|(config, _)| !config.limits.is_empty());
    let (limits, limits_from) = match stored {
        Some((config, from)) => (config.limits.as_slice(), from),
        None => (own.filter(|own| !own.is_empty())?, Source::Caller),
    };
    let word = levels().find_map(|(config, from)| Some((config.on_unavailable?, from)));
    let (on_unavailable, on_unavailable_from) =
        word.unwrap_or((OnUnavailable::Block, Source::BuiltIn));
    Some(Resolved { limits: limits.to_vec(), limits_from, on_unavailable, on_unavailable_from })
}

impl<B: Backend> Namespace<B> {
    /// What is remembered, completed by one batch get of what is not.
    pub(super) async fn resolve_at(
        &self,
        entity: &EntityId,
        resource: &Resource,
        own: Option<&[Limit]>,
        now_ms: i64,
    ) -> Result<Resolved> {
        let cache = &self.limiter.inner.configs;
        let levels = LevelRef::asked(&self.id, entity, resource);
        let mut found = cache.fresh(&levels, now_ms);
        cache.count(&found);
        let missing = || {
            levels
                .iter()
                .zip(0..)
                .filter(|(_, place)| found.get(*place).is_some_and(Option::is_none))
        };
        let (unknown, places): (Vec<_>, Vec<usize>) = missing().unzip();
        if !unknown.is_empty() {
            let read = self.read_levels(&unknown, Consistency::Eventual, now_ms).await?;
            for (place, said) in places.into_iter().zip(read) {
                if let Some(found) = found.get_mut(place) {
                    *found = Some(said);
                }
            }
        }
        choose(&found.map(Option::flatten), own).ok_or_else(|| no_limits(entity, resource))
    }

    /// What is remembered, if it is all of it.
    pub(super) fn resolve_remembered(
        &self,
        entity: &EntityId,
        resource: &Resource,
        own: Option<&[Limit]>,
        now_ms: i64,
    ) -> Option<Resolved> {
        let cache = &self.limiter.inner.configs;
        let found = cache.fresh(&LevelRef::asked(&self.id, entity, resource), now_ms);
        if found.iter().any(Option::is_none) {
            // Whoever asks the store next counts what was missing.
            return None;
        }
        cache.count(&found);
        choose(&found.map(Option::flatten), own)
    }

    /// What holds for an entity on a resource, strongly read, whatever is remembered; and remembers it.
    ///
    /// # Errors
    /// Nobody has limits for this ([`Error::NoLimits`]), or the store fails.
    pub(crate) async fn resolve_fresh(
        &self,
        entity: &EntityId,
        resource: &Resource,
        own: Option<&[Limit]>,
    ) -> Result<Resolved> {
        let levels = LevelRef::asked(&self.id, entity, resource);
        let now_ms = self.limiter.now_ms();
        let read = self.read_levels(&levels.each_ref(), Consistency::Strong, now_ms).await?;
        let said = <[Said; 4]>::try_from(read).unwrap_or_default();
        choose(&said, own).ok_or_else(|| no_limits(entity, resource))
    }

    /// Reads levels with one batch get, in their order, and remembers them. No level may be named twice.
    pub(super) async fn read_levels(
        &self,
        levels: &[&LevelRef<'_>],
        consistency: Consistency,
        now_ms: i64,
    ) -> Result<Vec<Said>> {
        let cache = &self.limiter.inner.configs;
        let epoch = cache.epoch();
        let get = |level: &&LevelRef<'_>| Get {
            consistency,
            ..Get::new(self.limiter.table(), level.stored())
        };
        let gets: Vec<Get> = levels.iter().map(get).collect();
        let items = self.limiter.store().batch_get(&gets).await?;
        let said: Vec<Said> =
            items.into_iter().map(|item| Some(Arc::new(item::decode(&item?)))).collect();
        for (level, said) in levels.iter().zip(&said) {
            cache.keep(**level, said.clone(), now_ms, epoch);
        }
        Ok(said)
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

    /// Every combination of levels with limits, with a word on unavailability, or absent.
    #[test]
    fn the_first_level_with_limits_wins_whole_and_the_word_is_inherited_apart() {
        for mask in 0..256_u32 {
            let bit = |place: u32| mask & (1 << place) != 0;
            let said: [Said; 4] = std::array::from_fn(|place| {
                let place = u32::try_from(place).unwrap();
                let (has_limits, has_word) = (bit(place), bit(place + 4));
                let config = LevelConfig {
                    limits: if has_limits { limits(u64::from(place) + 1) } else { Vec::new() },
                    on_unavailable: has_word.then_some(OnUnavailable::Allow),
                    ..LevelConfig::default()
                };
                (has_limits || has_word).then(|| Arc::new(config))
            });
            let first = (0..4).find(|place| bit(*place));
            let word = (0..4_usize).find(|place| bit(u32::try_from(*place).unwrap() + 4));
            for own in [None, Some(limits(9))] {
                let resolved = choose(&said, own.as_deref());
                let Some(resolved) = resolved else {
                    assert!(first.is_none() && own.is_none(), "{mask:b}");
                    continue;
                };
                let from = first.map_or(Source::Caller, |place| SOURCES[place as usize]);
                let capacity = first.map_or(9, |place| u64::from(place) + 1);
                assert_eq!((resolved.limits_from, resolved.limits), (from, limits(capacity)));
                let (word, from) = word.map_or((OnUnavailable::Block, Source::BuiltIn), |place| {
                    (OnUnavailable::Allow, SOURCES[place])
                });
                assert_eq!((resolved.on_unavailable, resolved.on_unavailable_from), (word, from));
            }
        }
    }

    #[test]
    fn no_limits_at_all_are_no_limits() {
        assert_eq!(choose(&[None, None, None, None], Some(&[])), None);
    }
}
