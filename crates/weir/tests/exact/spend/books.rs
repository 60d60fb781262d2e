//! What must have been counted, and whether it was.

use std::collections::BTreeMap;

use axum::http::Method;
use serde_json::Value;
use weir_calendar::Zone;
use weir_keeper::day::OrgDay;
use weir_keeper::ids::{AppId, Label, OrgId, Scope};
use weir_keeper::keys;
use weir_table::clock::Clock;

use super::load::{APPS, LABELS, Load, Org};
use crate::ground::Ground;
use crate::wire::Answer;

const USAGE: &str = "weir-keeper-usage-agg-sharded";
const COUNTERS: [&str; 4] = ["cost_usd_micros", "input_tokens", "output_tokens", "requests"];
/// How many submissions are sent once more in the end.
const SAMPLES: u64 = 200;

/// Cost, tokens in, tokens out, requests.
type Sums = [u64; 4];

/// What must have been counted, by org, app and label.
pub(crate) struct Books<'l> {
    load: &'l Load,
    sums: BTreeMap<(usize, usize, usize), Sums>,
}

/// An org's day, and which hour it is.
pub(crate) fn day(org: &Org) -> (OrgDay, u8) {
    let (zone, now) = (Zone::new(&org.zone).unwrap(), Clock::System.now_ms());
    let now = i64::try_from(now).unwrap();
    (zone.day_of(now), zone.hour_of(now))
}

fn plus(sums: &mut Sums, more: Sums) {
    for (sum, more) in sums.iter_mut().zip(more) {
        *sum += more;
    }
}

impl Books<'_> {
    pub(crate) fn of(load: &Load) -> Books<'_> {
        let mut sums: BTreeMap<_, Sums> = BTreeMap::new();
        for number in 0..load.count() {
            let one = load.submission(number);
            let sum = sums.entry((one.org, one.app, one.label)).or_default();
            plus(sum, [one.cost(), one.input, one.output, 1]);
        }
        Books { load, sums }
    }

    pub(crate) fn cost_in_all(&self) -> u64 {
        self.sums.values().map(|sums| sums[0]).sum()
    }

    /// What an org, or one app of it, must have used of a label.
    fn expected(&self, org: usize, app: Option<usize>, label: usize) -> Sums {
        let mut all = Sums::default();
        for ((of, by, what), sums) in &self.sums {
            if *of == org && *what == label && app.is_none_or(|app| app == *by) {
                plus(&mut all, *sums);
            }
        }
        all
    }

    /// The shards hold exactly the distinct submissions: those of each app, and of the org where the quota is the org's.
    pub(crate) fn check_shards(&self, ground: &Ground) {
        for (place, org) in self.load.orgs.iter().enumerate() {
            let id = OrgId::new(&org.id).unwrap();
            let mut scopes: Vec<(Scope, Option<usize>)> = Vec::new();
            if org.scope == "ORG" {
                scopes.push((Scope::Org(id.clone()), None));
            }
            for (app, name) in APPS.iter().enumerate() {
                scopes.push((Scope::App(id.clone(), AppId::new(name).unwrap()), Some(app)));
            }
            for (scope, app) in scopes {
                for (label, def) in LABELS.iter().enumerate() {
                    let name = Label::new(def.name).unwrap();
                    let found = shards(ground, &scope, &name, org);
                    assert_eq!(found, self.expected(place, app, label), "{scope:?} {name}");
                }
            }
        }
    }

    /// The totals of the day say the same.
    pub(crate) fn check_totals(&self, ground: &Ground) -> Result<(), String> {
        for (place, org) in self.load.orgs.iter().enumerate() {
            self.check_total(ground, place, None, &org.path())?;
            for (app, name) in APPS.iter().enumerate() {
                let path = format!("{}/apps/{name}", org.path());
                self.check_total(ground, place, Some(app), &path)?;
            }
        }
        Ok(())
    }

    fn check_total(
        &self,
        ground: &Ground,
        org: usize,
        app: Option<usize>,
        path: &str,
    ) -> Result<(), String> {
        let response = match ground.try_call(Method::GET, &format!("{path}/aggregates/today"), None)
        {
            Answer::Response(200, response) => response,
            other => return Err(format!("{path}: {other:?}")),
        };
        for (label, def) in LABELS.iter().enumerate() {
            let model = &response["models"][def.name];
            let found = COUNTERS.map(|name| model[name].as_u64().unwrap_or_default());
            let expected = self.expected(org, app, label);
            if found != expected {
                return Err(format!("{path} {}: {found:?} and not {expected:?}", def.name));
            }
        }
        Ok(())
    }

    /// Whatever is submitted once more is a duplicate, and told what it cost.
    pub(crate) fn check_duplicates(&self, ground: &Ground) {
        let step = usize::try_from((self.load.count() / SAMPLES).max(1)).unwrap();
        for number in (0..self.load.count()).step_by(step) {
            let one = self.load.submission(number);
            let (path, body) = (self.load.path(&one), self.load.body(&one));
            let response = ground.call(Method::POST, &path, Some(&body));
            let found = (&response["duplicate"], &response["processing"]["cost_usd_micros"]);
            assert_eq!(found, (&Value::from(true), &Value::from(one.cost())), "{response}");
        }
    }
}

fn shards(ground: &Ground, scope: &Scope, label: &Label, org: &Org) -> Sums {
    let mut all = Sums::default();
    for shard in 0..org.shards {
        let key = keys::usage(scope, label, shard, day(org).0);
        if let Some(item) = ground.get_from(USAGE, key) {
            let number = |name: &str| u64::try_from(item.i64(name).unwrap()).unwrap();
            plus(&mut all, COUNTERS.map(number));
        }
    }
    all
}
