//! Finds an order of concurrent events that explains what each of them returned.
//!
//! Every write of an item adds one to its `version`, and the write that creates the item gives it a `life` of its own. So an
//! image shows its [`Position`]: nothing, or a version of a life. A version is left by exactly one write, and once left it
//! never comes back. That makes the order of an item's events almost unique: only what happens while there is no item is
//! searched. Transactions return no images; every update leaves a mark `w_<id>` with the version that it found.

#![expect(clippy::indexing_slicing, reason = "events and their moves have the same places")]

use std::collections::{BTreeMap, BTreeSet};

use weir_table::request::Action;
use weir_table::{Item, Key, Transacted, Verdict, Write, Written};

use crate::answers::Answer;
use crate::memory::name_of;
use crate::program::Step;
use crate::shapes::PARTITION;
use crate::sides::Fault;

/// The states that a search visits at most; a history without an order ends far earlier.
const VISITED_MAX: usize = 20_000;

/// Where an item stands: its life and version, or `None` while there is no item.
pub(crate) type Position = Option<(String, i64)>;

/// A request, when it was made, and what it returned.
#[derive(Debug, Clone)]
pub(crate) struct Event {
    pub(crate) id: String,
    pub(crate) step: Step,
    /// Positions that the transaction's checks require.
    pub(crate) checked: BTreeMap<String, Position>,
    pub(crate) answer: Answer,
    /// Moments on one clock that all tasks share.
    pub(crate) called: u64,
    pub(crate) returned: u64,
}

/// What an event shows of one item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Move {
    pub(crate) before: Position,
    pub(crate) after: Position,
}

/// What an event shows of items, by their keys.
pub(crate) type Moves = BTreeMap<String, Move>;

/// The position that an image shows.
pub(crate) fn position_of(image: Option<&Item>) -> Result<Position, String> {
    let Some(image) = image else { return Ok(None) };
    match (image.s("life"), image.i64("version")) {
        (Some(life), Some(version)) => Ok(Some((life.to_owned(), version))),
        _ => Err(format!("an image without life and version: {image:?}")),
    }
}

/// What each event shows, in the order of `events`.
pub(crate) fn moves(events: &[Event]) -> Result<Vec<Moves>, String> {
    let marks = marks(events)?;
    let moves = events
        .iter()
        .map(|event| moves_of(event, &marks).map_err(|problem| format!("{problem}: {event:#?}")));
    let moves: Vec<Moves> = moves.collect::<Result<_, _>>()?;
    // A write that was not applied left no mark.
    for (event, moves) in events.iter().zip(&moves) {
        let is_marked = marks.keys().any(|(_, id)| *id == event.id);
        if is_marked && moves.values().all(|one| one.before == one.after) {
            return Err(format!("it was not applied and left its mark: {event:#?}"));
        }
    }
    Ok(moves)
}

type Marks = BTreeMap<(String, String), (String, i64)>;

/// The life and the version that each update found, by key and id.
fn marks(events: &[Event]) -> Result<Marks, String> {
    let mut marks = Marks::new();
    for image in events.iter().flat_map(images) {
        let (Some(key), Some((life, _))) = (image.get(PARTITION), position_of(Some(image))?) else {
            return Err(format!("an image without its key: {image:?}"));
        };
        for (name, value) in image.attrs().iter() {
            let (Some(id), Some(found)) = (name.strip_prefix("w_"), value.as_i64()) else {
                continue;
            };
            let mark = (life.clone(), found);
            let earlier = marks.insert((format!("{key:?}"), id.to_owned()), mark.clone());
            if earlier.as_ref().is_some_and(|earlier| *earlier != mark) {
                return Err(format!("{id} was applied twice to {key:?}: {earlier:?} and {mark:?}"));
            }
        }
    }
    Ok(marks)
}

fn images(event: &Event) -> Vec<&Item> {
    match &event.answer {
        Answer::Written(written) => written.item().into_iter().collect(),
        Answer::Items(items) => items.iter().flatten().collect(),
        Answer::Transacted(Transacted::Refused(verdicts)) => {
            let failed = verdicts.iter().filter_map(|verdict| match verdict {
                Verdict::Failed(item) => item.as_ref(),
                Verdict::Held => None,
            });
            failed.collect()
        }
        _ => Vec::new(),
    }
}

fn moves_of(event: &Event, marks: &Marks) -> Result<Moves, String> {
    let stays = |key: &Key, image: Option<&Item>| {
        let position = position_of(image)?;
        Ok((name_of(key), Move { before: position.clone(), after: position }))
    };
    match (&event.step, &event.answer) {
        (_, Answer::Failed(Fault::Conflict, ..)) => Ok(Moves::new()),
        (Step::Get(get), Answer::Items(items)) => {
            items.iter().map(|item| stays(&get.key, item.as_ref())).collect()
        }
        (Step::TransactGet(gets), Answer::Items(items)) => {
            let pairs = gets.iter().zip(items);
            pairs.map(|(get, item)| stays(&get.key, item.as_ref())).collect()
        }
        (Step::Add(add), Answer::Written(written)) => match written {
            Written::Refused(image) => Ok([stays(&add.key, image.as_ref())?].into()),
            Written::Applied(image) => Ok([updated(&add.key, image.as_ref())?].into()),
        },
        (Step::Write(write), Answer::Written(written)) => {
            Ok([write_of(write, written, &event.id)?].into())
        }
        (Step::Transact(transaction), Answer::Transacted(Transacted::Refused(verdicts))) => {
            let failed =
                transaction.writes.iter().zip(verdicts).filter_map(
                    |(write, verdict)| match verdict {
                        Verdict::Failed(image) => Some(stays(key_of(write)?, image.as_ref())),
                        Verdict::Held => None,
                    },
                );
            let failed: Moves = failed.collect::<Result<_, String>>()?;
            if failed.is_empty() {
                Err("it was refused for no reason".to_owned())
            } else {
                Ok(failed)
            }
        }
        (Step::Transact(transaction), Answer::Transacted(Transacted::Applied)) => {
            let part = |write: &Write| -> Result<(String, Move), String> {
                let key = name_of(key_of(write).ok_or("a put in a transaction")?);
                if let Some(position) = event.checked.get(&key) {
                    return Ok((key, Move { before: position.clone(), after: position.clone() }));
                }
                let mark = marks.get(&(key.clone(), event.id.clone()));
                let (life, found) = mark.ok_or_else(|| format!("{key} has lost its update"))?;
                Ok((key, moved(life, found + 1)))
            };
            transaction.writes.iter().map(part).collect()
        }
        _ => Err("it failed".to_owned()),
    }
}

fn key_of(write: &Write) -> Option<&Key> {
    match &write.action {
        Action::Update(key, _) | Action::Delete(key) | Action::Check(key) => Some(key),
        Action::Put(_) => None,
    }
}

/// The move to a version of a life.
fn moved(life: &str, version: i64) -> Move {
    let at = |version: i64| Some((life.to_owned(), version));
    Move { before: if version == 1 { None } else { at(version - 1) }, after: at(version) }
}

fn updated(key: &Key, image: Option<&Item>) -> Result<(String, Move), String> {
    let (life, version) = position_of(image)?.ok_or("an update returned no item")?;
    Ok((name_of(key), moved(&life, version)))
}

fn write_of(write: &Write, written: &Written, id: &str) -> Result<(String, Move), String> {
    let image = written.item();
    let found = || position_of(image);
    match (&write.action, written) {
        (Action::Put(item), written) => {
            let key = item.get(PARTITION).ok_or("a put without its key")?;
            let before = found()?;
            let is_applied = written.is_applied();
            let after = if is_applied { Some((id.to_owned(), 1)) } else { before.clone() };
            Ok((format!("{key:?}"), Move { before, after }))
        }
        (Action::Update(key, _), Written::Applied(_)) => updated(key, image),
        (Action::Delete(key), Written::Applied(_)) => {
            Ok((name_of(key), Move { before: found()?, after: None }))
        }
        (Action::Update(key, _) | Action::Delete(key) | Action::Check(key), _) => {
            Ok((name_of(key), Move { before: found()?, after: found()? }))
        }
    }
}

/// Takes deletes that return the item which another one deleted at the same time for deletes of nothing, as they are on
/// DynamoDB Local ([`RepeatedDelete`](crate::exceptions::Exception::RepeatedDelete)). Returns how many there were.
pub(crate) fn forgive_repeated_deletes(events: &mut [Event], moves: &mut [Moves]) -> u64 {
    let mut first: BTreeMap<(String, Position), u64> = BTreeMap::new();
    let mut deletes: Vec<usize> = (0..events.len())
        .filter(|place| {
            let Step::Write(write) = &events[*place].step else { return false };
            let is_found =
                moves[*place].values().any(|one| one.before.is_some() && one.after.is_none());
            matches!(write.action, Action::Delete(_)) && is_found
        })
        .collect();
    deletes.sort_by_key(|place| events[*place].returned);
    let mut forgiven = 0;
    for place in deletes {
        let Some((key, one)) = moves[place].first_key_value() else { continue };
        let found = (key.clone(), one.before.clone());
        let event = &mut events[place];
        match first.get(&found) {
            None => drop(first.insert(found, event.returned)),
            Some(returned) if event.called < *returned => {
                event.answer = Answer::Written(Written::Applied(None));
                moves[place] = [(found.0, Move { before: None, after: None })].into();
                forgiven += 1;
            }
            Some(_) => {}
        }
    }
    forgiven
}

/// How far a search has come.
#[derive(Debug, Clone)]
struct State {
    left: BTreeSet<usize>,
    positions: BTreeMap<String, Position>,
    order: Vec<usize>,
}

/// An order of all events in which each finds the positions that it shows, and which agrees with the clock: an event that
/// had returned before another was called comes first. No item is there at the start.
pub(crate) fn order(events: &[Event], moves: &[Moves]) -> Result<Vec<usize>, String> {
    let search = Search { events, moves };
    let start =
        State { left: (0..events.len()).collect(), positions: BTreeMap::new(), order: Vec::new() };
    let mut farthest = start.clone();
    let mut states = vec![start];
    for _ in 0..VISITED_MAX {
        let Some(mut state) = states.pop() else { break };
        search.advance(&mut state);
        if state.left.is_empty() {
            return Ok(state.order);
        }
        for event in search.choices(&state) {
            let mut next = state.clone();
            search.take(&mut next, event);
            states.push(next);
        }
        if state.order.len() > farthest.order.len() {
            farthest = state;
        }
    }
    let left: Vec<_> =
        farthest.left.iter().map(|event| (&events[*event], &moves[*event])).collect();
    Err(format!("no order explains these events at {:#?}: {left:#?}", farthest.positions))
}

struct Search<'a> {
    events: &'a [Event],
    moves: &'a [Moves],
}

impl Search<'_> {
    /// Takes the events that no other order has to take later.
    fn advance(&self, state: &mut State) {
        while let Some(event) = state.left.iter().copied().find(|event| {
            self.is_possible(state, *event) && (!self.changes(*event) || !self.creates(*event))
        }) {
            self.take(state, event);
        }
    }

    /// Events that create an item; another one may have to come first.
    fn choices(&self, state: &State) -> Vec<usize> {
        let is_choice = |event: &usize| self.is_possible(state, *event);
        state.left.iter().copied().filter(is_choice).collect()
    }

    /// Whether an event finds the positions that it shows, and leaves none that another event still has to find.
    fn is_possible(&self, state: &State, event: usize) -> bool {
        let at = |key: &String| state.positions.get(key).and_then(Option::as_ref);
        let finds = self.moves[event].iter().all(|(key, one)| one.before.as_ref() == at(key));
        let is_next = || {
            let called = self.events[event].called;
            state.left.iter().all(|other| self.events[*other].returned >= called)
        };
        let is_last = || {
            let leaves = self.moves[event].iter().filter(|(_, one)| one.before != one.after);
            leaves.filter(|(_, one)| one.before.is_some()).all(|(key, one)| {
                let finds = |other: &usize| {
                    self.moves[*other].get(key).is_some_and(|other| other.before == one.before)
                };
                state.left.iter().filter(|other| **other != event).all(|other| !finds(other))
            })
        };
        finds && is_next() && is_last()
    }

    fn changes(&self, event: usize) -> bool {
        self.moves[event].values().any(|one| one.before != one.after)
    }

    fn creates(&self, event: usize) -> bool {
        self.moves[event].values().any(|one| one.before.is_none() && one.after.is_some())
    }

    fn take(&self, state: &mut State, event: usize) {
        state.left.remove(&event);
        state.order.push(event);
        for (key, one) in &self.moves[event] {
            state.positions.insert(key.clone(), one.after.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use weir_table::expr::add;
    use weir_table::{Get, Transaction};

    use super::*;

    fn image(key: &str, version: i64, marks: &[(&str, i64)]) -> Item {
        let item = Item::new().with(PARTITION, key).with("life", "l").with("version", version);
        marks.iter().fold(item, |item, (id, found)| item.with(format!("w_{id}").as_str(), *found))
    }

    fn event(id: &str, step: Step, answer: Answer, (called, returned): (u64, u64)) -> Event {
        Event { id: id.to_owned(), step, checked: BTreeMap::new(), answer, called, returned }
    }

    fn update(id: &str, image: Item, time: (u64, u64)) -> Event {
        let key = Key::partition(image.s(PARTITION).unwrap());
        let step = Step::Write(Write::update("t", key, add("version", 1)));
        event(id, step, Answer::Written(Written::Applied(Some(image))), time)
    }

    fn get(images: &[Option<Item>], time: (u64, u64)) -> Event {
        let gets = ["a", "b"].iter().map(|key| Get::new("t", Key::partition(*key)));
        let step = Step::TransactGet(gets.take(images.len()).collect());
        event("get", step, Answer::Items(images.to_vec()), time)
    }

    fn find(events: &[Event]) -> Result<Vec<usize>, String> {
        order(events, &moves(events)?)
    }

    #[test]
    fn a_chain_of_images_has_an_order() {
        let (one, two) = (image("a", 1, &[("x", 0)]), image("a", 2, &[("x", 0), ("y", 1)]));
        let events = [
            get(&[Some(one.clone())], (0, 9)),
            update("y", two.clone(), (0, 9)),
            update("x", one, (0, 9)),
            get(&[None], (0, 9)),
            get(&[Some(two)], (10, 11)),
        ];
        assert_eq!(find(&events), Ok(vec![3, 2, 0, 1, 4]));
    }

    #[test]
    fn a_lost_update_has_no_order() {
        let x = update("x", image("a", 1, &[("x", 0)]), (0, 1));
        let y = update("y", image("a", 2, &[("x", 0), ("y", 1)]), (2, 9));
        let z = update("z", image("a", 2, &[("x", 0), ("z", 1)]), (2, 9));
        assert!(find(&[x.clone(), y.clone()]).is_ok());
        assert!(find(&[x.clone(), y.clone(), z]).is_err());
        // A version that nobody wrote.
        assert!(find(&[x, update("y", image("a", 3, &[("x", 0), ("y", 2)]), (2, 9))]).is_err());
    }

    #[test]
    fn a_read_of_the_past_has_no_order() {
        let one = image("a", 1, &[("x", 0)]);
        let x = update("x", one.clone(), (0, 1));
        let y = update("y", image("a", 2, &[("x", 0), ("y", 1)]), (2, 3));
        assert!(find(&[x.clone(), y.clone(), get(&[Some(one.clone())], (1, 4))]).is_ok());
        assert!(find(&[x, y, get(&[Some(one)], (4, 5))]).is_err());
    }

    #[test]
    fn half_a_transaction_has_no_order() {
        let keys = ["a", "b"].map(Key::partition);
        let writes = keys.map(|key| Write::update("t", key, add("version", 1)));
        let step = Step::Transact(Transaction::new(writes));
        let applied = event("x", step, Answer::Transacted(Transacted::Applied), (0, 9));
        let images = ["a", "b"].map(|key| Some(image(key, 1, &[("x", 0)])));
        let end = get(&images, (10, 11));
        assert!(find(&[applied.clone(), get(&[None, None], (0, 9)), end.clone()]).is_ok());
        let torn = get(&[images[0].clone(), None], (0, 9));
        assert!(find(&[applied.clone(), torn, end]).is_err());
        let lost = get(&[images[0].clone(), Some(image("b", 1, &[("y", 0)]))], (10, 11));
        assert!(find(&[applied, lost]).is_err());
    }

    #[test]
    fn only_deletes_at_the_same_time_may_return_the_same_item() {
        let one = image("a", 1, &[("x", 0)]);
        let x = update("x", one.clone(), (0, 1));
        let delete = |time| {
            let step = Step::Write(Write::delete("t", Key::partition("a")));
            event("d", step, Answer::Written(Written::Applied(Some(one.clone()))), time)
        };
        for (second, is_explained) in [((3, 9), true), ((5, 9), false)] {
            let mut events = [x.clone(), delete((2, 4)), delete(second)];
            assert!(find(&events).is_err());
            let mut moves = moves(&events).unwrap();
            let forgiven = forgive_repeated_deletes(&mut events, &mut moves);
            assert_eq!(
                (forgiven == 1, order(&events, &moves).is_ok()),
                (is_explained, is_explained)
            );
        }
    }

    #[test]
    fn a_refused_write_leaves_no_mark() {
        let x = update("x", image("a", 1, &[("x", 0)]), (0, 1));
        let seen = image("a", 2, &[("x", 0), ("y", 1)]);
        let step = Step::Write(Write::update("t", Key::partition("a"), add("version", 1)));
        let refused = event("y", step, Answer::Written(Written::Refused(Some(seen))), (2, 3));
        assert!(find(&[x, refused]).is_err());
    }
}
