//! Every key of rollups. The text is the storage format, so each builder has a test with the literal text.
//!
//! | item | PK | SK | GSI1PK | GSI1SK |
//! |---|---|---|---|---|
//! | summary of a review | `ROLLUP#{owner}#{repo}` | `REVIEW#{day}#{review_id}` | `ROLLUPDAY#{day}` | `{owner}#{repo}#REVIEW#{review_id}` |
//! | repository's day | `ROLLUPDAY#{day}` | `{owner}#{repo}#MODEL#{model}` or `…#PAIRS` | `ROLLUP#{owner}#{repo}` | `{day}#MODEL#{model}` or `…#PAIRS` |
//! | day of all repositories | `ROLLUPS` | `{day}#MODEL#{model}` or `…#PAIRS` | | |
//! | version of a day | like the day's | `…#VERSION` | | |
//! | mark of a repository's day | `ROLLUPMARK#{shard}` | `{day}#{owner}#{repo}#{token}` | | |
//! | mark of a day of all | `ROLLUPMARK#ALL` | `{day}#{token}` | | |
//!
//! The days of the repositories are under their day, because the day of all repositories is merged from them and must not
//! miss one: an index may lag. Comparisons of a repository read the index.

use weir_calendar::Day;
use weir_table::{Item, Key};

use super::day_range::DayRange;
use super::summary::SummaryId;
use crate::bounds::ROLLUP_MARK_SHARDS;
use crate::ids::{ModelId, Owner, Repo};

/// The index of the table that rollups use.
pub const INDEX: &str = "GSI1";
/// Partition attribute of the index.
pub const INDEX_PK: &str = "GSI1PK";
/// Sort attribute of the index.
pub const INDEX_SK: &str = "GSI1SK";
/// Partition of the days of all repositories.
pub const ALL_DAYS: &str = "ROLLUPS";
/// Partition of the marks of days of all repositories.
pub const ALL_MARKS: &str = "ROLLUPMARK#ALL";
const MODEL: &str = "MODEL#";
const PAIRS: &str = "PAIRS";
const VERSION: &str = "VERSION";

/// A repository, or all of them.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// One repository.
    Repository(Owner, Repo),
    /// All repositories.
    All,
}

/// The part of a day that an item has.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// A model.
    Model(ModelId),
    /// All pairs of models.
    Pairs,
    /// The version of the day.
    Version,
}

impl std::fmt::Display for Part {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Part::Model(model) => write!(f, "{MODEL}{model}"),
            Part::Pairs => f.write_str(PAIRS),
            Part::Version => f.write_str(VERSION),
        }
    }
}

impl Part {
    fn parse(text: &str) -> Option<Part> {
        match text {
            PAIRS => Some(Part::Pairs),
            VERSION => Some(Part::Version),
            _ => ModelId::new(text.strip_prefix(MODEL)?).ok().map(Part::Model),
        }
    }
}

/// An item with only its key.
#[must_use]
pub fn item(key: Key) -> Item {
    let item = Item::new().with("PK", key.partition.to_value());
    match key.sort {
        Some(sort) => item.with("SK", sort.to_value()),
        None => item,
    }
}

/// Partition of the summaries of a repository, and in the index of its days.
#[must_use]
pub fn repository(owner: &Owner, repo: &Repo) -> String {
    format!("ROLLUP#{owner}#{repo}")
}

/// The summary of a review.
#[must_use]
pub fn summary(id: &SummaryId) -> Key {
    Key::new(repository(&id.owner, &id.repo), format!("{}{}", summaries(id.day), id.review))
}

/// Prefix of the sort keys of a day's summaries.
#[must_use]
pub fn summaries(day: Day) -> String {
    format!("REVIEW#{day}#")
}

/// The index key of a summary.
#[must_use]
pub fn summary_index(id: &SummaryId) -> Key {
    Key::new(repository_days(id.day), format!("{}#{}#REVIEW#{}", id.owner, id.repo, id.review))
}

/// Partition of the days of the repositories, and in the index of the summaries of a day.
#[must_use]
pub fn repository_days(day: Day) -> String {
    format!("ROLLUPDAY#{day}")
}

/// The repository of a sort key in that partition.
#[must_use]
pub fn parse_repository(sk: &str) -> Option<(Owner, Repo)> {
    let mut parts = sk.splitn(3, '#');
    Some((Owner::new(parts.next()?).ok()?, Repo::new(parts.next()?).ok()?))
}

/// The part of a day that a sort key of either level or of the index names.
#[must_use]
pub fn parse_part(level: &Level, sk: &str) -> Option<Part> {
    let before = match level {
        Level::Repository(..) => 2,
        Level::All => 1,
    };
    Part::parse(sk.splitn(before + 1, '#').nth(before)?)
}

/// The day and part of a sort key `{day}#{part}`.
#[must_use]
pub fn parse_day_part(sk: &str) -> Option<(Day, Part)> {
    let (day, part) = sk.split_once('#')?;
    Some((Day::from_dashed(day)?, Part::parse(part)?))
}

/// A part of a day.
#[must_use]
pub fn part(level: &Level, day: Day, part: &Part) -> Key {
    Key::new(day_partition(level, day), format!("{}{part}", day_prefix(level, day)))
}

/// Partition of a day.
#[must_use]
pub fn day_partition(level: &Level, day: Day) -> String {
    match level {
        Level::Repository(..) => repository_days(day),
        Level::All => ALL_DAYS.to_owned(),
    }
}

/// Prefix of the sort keys of a day.
#[must_use]
pub fn day_prefix(level: &Level, day: Day) -> String {
    match level {
        Level::Repository(owner, repo) => format!("{owner}#{repo}#"),
        Level::All => format!("{day}#"),
    }
}

/// The index key of a part of a repository's day; days of all repositories have none.
#[must_use]
pub fn part_index(level: &Level, day: Day, part: &Part) -> Option<Key> {
    match (level, part) {
        (_, Part::Version) | (Level::All, _) => None,
        (Level::Repository(owner, repo), part) => {
            Some(Key::new(repository(owner, repo), format!("{day}#{part}")))
        }
    }
}

/// First and last sort keys `{day}#{part}` of days: no key equals a day without a part, so the last one is excluded.
#[must_use]
pub fn days(range: DayRange) -> (String, String) {
    (range.from().to_string(), range.to().to_string())
}

/// A mark of a day to roll up. Every mark has an item of its own: recorders never contend for one, and to clear a mark
/// clears no later one.
#[must_use]
pub fn mark(level: &Level, day: Day, token: &str) -> Key {
    match level {
        Level::Repository(owner, repo) => {
            Key::new(marks(shard_of(owner, repo)), format!("{day}#{owner}#{repo}#{token}"))
        }
        Level::All => Key::new(ALL_MARKS, format!("{day}#{token}")),
    }
}

/// A partition of marks of repositories.
#[must_use]
pub fn marks(shard: u32) -> String {
    format!("ROLLUPMARK#{shard}")
}

/// The day that a mark names.
#[must_use]
pub fn parse_mark(sk: &str) -> Option<(Level, Day)> {
    let parts: Vec<&str> = sk.split('#').collect();
    match parts.as_slice() {
        [day, owner, repo, _] => {
            let level = Level::Repository(Owner::new(owner).ok()?, Repo::new(repo).ok()?);
            Some((level, Day::from_dashed(day)?))
        }
        [day, _] => Some((Level::All, Day::from_dashed(day)?)),
        _ => None,
    }
}

fn shard_of(owner: &Owner, repo: &Repo) -> u32 {
    let bytes = owner.as_str().bytes().chain(repo.as_str().bytes());
    bytes.fold(0_u32, |hash, byte| hash.wrapping_mul(31).wrapping_add(byte.into()))
        % ROLLUP_MARK_SHARDS
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::ReviewId;

    fn level() -> Level {
        Level::Repository(Owner::new("acme").unwrap(), Repo::new("shop").unwrap())
    }

    fn day() -> Day {
        Day::from_dashed("2026-01-15").unwrap()
    }

    fn model() -> Part {
        Part::Model(ModelId::new("meta/llama:3").unwrap())
    }

    fn summary_id() -> SummaryId {
        SummaryId {
            owner: Owner::new("acme").unwrap(),
            repo: Repo::new("shop").unwrap(),
            day: day(),
            review: ReviewId::new("r1").unwrap(),
        }
    }

    #[test]
    fn the_text_of_keys_is_stable() {
        let text = |key: Key| key.to_string();
        assert_eq!(text(summary(&summary_id())), "ROLLUP#acme#shop | REVIEW#2026-01-15#r1");
        assert_eq!(
            text(summary_index(&summary_id())),
            "ROLLUPDAY#2026-01-15 | acme#shop#REVIEW#r1"
        );
        assert_eq!(
            text(part(&level(), day(), &model())),
            "ROLLUPDAY#2026-01-15 | acme#shop#MODEL#meta/llama:3"
        );
        assert_eq!(
            text(part(&level(), day(), &Part::Pairs)),
            "ROLLUPDAY#2026-01-15 | acme#shop#PAIRS"
        );
        assert_eq!(
            text(part(&level(), day(), &Part::Version)),
            "ROLLUPDAY#2026-01-15 | acme#shop#VERSION"
        );
        assert_eq!(
            part_index(&level(), day(), &model()).map(text).as_deref(),
            Some("ROLLUP#acme#shop | 2026-01-15#MODEL#meta/llama:3")
        );
        assert_eq!(
            part_index(&level(), day(), &Part::Pairs).map(text).as_deref(),
            Some("ROLLUP#acme#shop | 2026-01-15#PAIRS")
        );
        assert_eq!(part_index(&level(), day(), &Part::Version), None);
        assert_eq!(
            text(part(&Level::All, day(), &model())),
            "ROLLUPS | 2026-01-15#MODEL#meta/llama:3"
        );
        assert_eq!(text(part(&Level::All, day(), &Part::Pairs)), "ROLLUPS | 2026-01-15#PAIRS");
        assert_eq!(text(part(&Level::All, day(), &Part::Version)), "ROLLUPS | 2026-01-15#VERSION");
        assert_eq!(part_index(&Level::All, day(), &model()), None);
        assert_eq!(text(mark(&level(), day(), "7f")), "ROLLUPMARK#0 | 2026-01-15#acme#shop#7f");
        assert_eq!(text(mark(&Level::All, day(), "7f")), "ROLLUPMARK#ALL | 2026-01-15#7f");
        let range = DayRange::only(day());
        assert_eq!(days(range), ("2026-01-15".to_owned(), "2026-01-16".to_owned()));
    }

    #[test]
    fn keys_are_read_back() {
        let sort = |key: Key| key.sort.unwrap().to_value().as_s().unwrap().to_owned();
        for level in [level(), Level::All] {
            for known in [model(), Part::Pairs, Part::Version] {
                assert_eq!(
                    parse_part(&level, &sort(part(&level, day(), &known))),
                    Some(known.clone())
                );
                if let Some(index) = part_index(&level, day(), &known) {
                    assert_eq!(parse_day_part(&sort(index)), Some((day(), known)));
                }
            }
            assert_eq!(parse_mark(&sort(mark(&level, day(), "7f"))), Some((level, day())));
        }
        let repository = (Owner::new("acme").unwrap(), Repo::new("shop").unwrap());
        assert_eq!(parse_repository(&sort(summary_index(&summary_id()))), Some(repository));
        assert_eq!(parse_mark("2026-01-15"), None);
        assert_eq!(parse_part(&Level::All, "2026-01-15#OTHER"), None);
    }
}
