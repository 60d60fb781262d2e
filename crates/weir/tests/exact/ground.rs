//! Where a run takes place: servers on one table, and a way to look at the table past them.

use std::path::PathBuf;
use std::time::Duration;

use axum::http::Method;
use serde_json::{Value, json};
use tempfile::TempDir;
use weir_framework::Client;
use weir_limiter::bucket::{Bucket, Meter};
use weir_limiter::ids::{EntityId, NamespaceId, NamespaceName, Resource};
use weir_limiter::{item, keys};
use weir_table::cursor::CursorKey;
use weir_table::dynamodb::{Dynamo, Options, Timeouts};
use weir_table::expr::{Update, attr};
use weir_table::{AnyBackend, Get, Item, Key, Store, Write};
use weir_testkit::DynamoLocal;

use crate::instance::{CLOCK_FILE, Instance, write_whole};
use crate::wire::{Answer, Wire};

const TABLE: &str = "weir-limiter";
const NAMESPACE: &str = "/v1/namespaces/default";
pub(crate) const RESOURCE: &str = "gpt-4";
/// Servers on DynamoDB, and processes of clients everywhere.
pub(crate) const PROCESSES: usize = 4;
/// Writes by which a shard is made to look overdrawn: a minute's worth, in thousandths.
const HEAT: i64 = -60_000_000;
/// How often something is asked that the server cannot tell just now.
const LOOKS_MAX: u32 = 10;
/// How long the test waits for DynamoDB: as long as it takes.
const STORE_WITHIN: Duration = Duration::from_secs(120);
/// How often the table is read until two readings agree.
const READINGS_MAX: u32 = 100;

/// The table, reached past the limiter.
enum Table {
    /// Through the socket of the server that has it open.
    Embedded(PathBuf),
    Dynamo(Store<AnyBackend>, #[expect(dead_code, reason = "it ends with the run")] DynamoLocal),
}

/// Servers and their table.
pub(crate) struct Ground {
    pub(crate) runtime: tokio::runtime::Runtime,
    folder: TempDir,
    flags: Vec<String>,
    /// They end before their store.
    instances: Vec<Option<Instance>>,
    table: Table,
    ns: Option<NamespaceId>,
}

impl Ground {
    /// One server on the embedded store.
    pub(crate) fn embedded() -> Ground {
        Ground::embedded_with("")
    }

    /// One server on the embedded store, with this configuration file.
    pub(crate) fn embedded_with(config: &str) -> Ground {
        let folder = folder_with(config);
        let data = folder.path().join("data");
        let flags = vec!["--data".to_owned(), data.to_str().unwrap().to_owned()];
        Ground::new(folder, flags, Table::Embedded(data), runtime(), 1)
    }

    /// Several servers on DynamoDB Local.
    pub(crate) fn dynamodb_local() -> Ground {
        Ground::dynamodb_local_with(PROCESSES, "")
    }

    /// So many servers on DynamoDB Local, with this configuration file.
    pub(crate) fn dynamodb_local_with(servers: usize, config: &str) -> Ground {
        let (prefix, runtime) = (weir_testkit::unique_prefix("exact"), runtime());
        // One of their own: these tests are busy, and nothing runs beside them.
        let server = DynamoLocal::start().unwrap();
        let endpoint = server.endpoint();
        let flags = ["--store", "dynamodb", "--dynamodb-endpoint"];
        let flags = flags.into_iter().chain([endpoint, "--table-prefix", &prefix]);
        let flags = flags.map(ToOwned::to_owned).collect();
        let options = Options {
            region: Some(weir_testkit::dynamo_local_region().to_owned()),
            endpoint: Some(endpoint.to_owned()),
            table_prefix: prefix,
            timeouts: Timeouts {
                attempt: STORE_WITHIN,
                total: STORE_WITHIN,
                ..Timeouts::default()
            },
            ..Options::default()
        };
        let dynamo = runtime.block_on(Dynamo::connect(options)).unwrap();
        let store = Store::new(AnyBackend::Dynamo(dynamo), CursorKey::new([7; 32]));
        let table = Table::Dynamo(store, server);
        Ground::new(folder_with(config), flags, table, runtime, servers)
    }

    fn new(
        folder: TempDir,
        flags: Vec<String>,
        table: Table,
        runtime: tokio::runtime::Runtime,
        count: usize,
    ) -> Ground {
        let instances = (0..count).map(|_| None).collect();
        let mut ground = Ground { runtime, folder, flags, instances, table, ns: None };
        (0..count).for_each(|place| ground.start(place));
        let name = NamespaceName::new("default").unwrap();
        let record = ground.get(keys::namespace(&name)).unwrap();
        ground.ns = Some(NamespaceId::new(record.s("namespace_id").unwrap()).unwrap());
        ground
    }

    /// Whether buckets have shards here.
    pub(crate) fn is_sharded(&self) -> bool {
        matches!(self.table, Table::Dynamo(..))
    }

    /// The data folder of the embedded store.
    pub(crate) fn data(&self) -> Option<&std::path::Path> {
        match &self.table {
            Table::Embedded(data) => Some(data),
            Table::Dynamo(..) => None,
        }
    }

    /// Files with the addresses of all servers.
    pub(crate) fn address_files(&self) -> Vec<PathBuf> {
        (0..self.instances.len()).map(|place| self.address_file(place)).collect()
    }

    fn address_file(&self, place: usize) -> PathBuf {
        self.folder.path().join(format!("address-{place}"))
    }

    fn start(&mut self, place: usize) {
        let instance = Instance::start(self.folder.path(), &self.flags, &self.address_file(place));
        self.instances[place] = Some(instance);
    }

    /// Kills a server, and starts another in its place.
    pub(crate) fn restart(&mut self, place: usize) {
        self.instances[place].take().unwrap().kill();
        self.start(place);
    }

    /// Starts all servers again with a clock that is so many seconds ahead, and that [`Ground::set_clock`] moves.
    pub(crate) fn take_clock(&mut self, ahead_s: i64) {
        self.set_clock(ahead_s);
        (0..self.servers()).for_each(|place| self.restart(place));
    }

    /// Sets the clock of all servers so many seconds ahead of the real one. They notice within a second.
    pub(crate) fn set_clock(&self, ahead_s: i64) {
        write_whole(&self.folder.path().join(CLOCK_FILE), &format!("{ahead_s:+}\n"));
    }

    /// How many servers there are.
    pub(crate) fn servers(&self) -> usize {
        self.instances.len()
    }

    /// Asks the first server something of the namespace `default` that must succeed.
    pub(crate) fn ask(&self, method: Method, tail: &str, body: Option<&Value>) -> Value {
        self.call(method, &format!("{NAMESPACE}/{tail}"), body)
    }

    /// Asks the first server something of the namespace `default`.
    pub(crate) fn try_ask(&self, method: Method, tail: &str, body: Option<&Value>) -> Answer {
        self.try_call(method, &format!("{NAMESPACE}/{tail}"), body)
    }

    /// Asks the first server something that must succeed. What only looks may be asked again.
    pub(crate) fn call(&self, method: Method, path: &str, body: Option<&Value>) -> Value {
        for _ in 0..LOOKS_MAX {
            match self.try_call(method.clone(), path, body) {
                Answer::Response(200..=299, response) => return response,
                Answer::Response(503, _) if method == Method::GET => {}
                other => panic!("{path}: {other:?}"),
            }
        }
        panic!("{path} is not answered");
    }

    /// Asks the first server something.
    pub(crate) fn try_call(&self, method: Method, path: &str, body: Option<&Value>) -> Answer {
        let address = std::fs::read_to_string(self.address_file(0)).unwrap();
        self.runtime.block_on(async {
            let mut wire = Wire::connect(&address).await.unwrap();
            wire.call(method, path, None, body).await
        })
    }

    /// Gives an entity limits, and takes so much that `start` tokens of each are left: then a bucket is far from full for
    /// the whole run, and none of its refill is dropped.
    pub(crate) fn prepare(&self, entity: &str, limits: &[Limit]) {
        self.limit(entity, limits);
        self.drain(entity, limits);
    }

    /// Gives an entity limits.
    pub(crate) fn limit(&self, entity: &str, limits: &[Limit]) {
        let limits: Vec<Value> = limits.iter().map(|limit| limit.to_json()).collect();
        let tail = format!("limits/entities/{entity}/{RESOURCE}");
        self.ask(Method::PUT, &tail, Some(&json!({ "limits": limits })));
    }

    /// Takes all but `start` of each limit.
    pub(crate) fn drain(&self, entity: &str, limits: &[Limit]) {
        let consume: serde_json::Map<String, Value> = limits
            .iter()
            .map(|limit| (limit.name.to_owned(), (limit.capacity - limit.start).into()))
            .collect();
        let ask = json!({"entity": entity, "resource": RESOURCE, "consume": consume});
        self.ask(Method::POST, "acquire", Some(&ask));
    }

    /// All shards of a bucket, as the table has them.
    pub(crate) fn shards(&self, entity: &str) -> Vec<Bucket> {
        let mut last = self.read_shards(entity);
        for _ in 0..READINGS_MAX {
            // Jobs may be splitting it still, and DynamoDB Local shows a transaction while it is being done.
            let again = self.read_shards(entity);
            let is_split = again.iter().all(|shard| shard.shard_count as usize == again.len());
            if again == last && is_split {
                return again;
            }
            last = again;
        }
        panic!("the bucket of {entity} does not come to rest");
    }

    fn read_shards(&self, entity: &str) -> Vec<Bucket> {
        let read = |shard| item::decode(&self.get(self.key(entity, shard)).unwrap());
        let first = read(0);
        let rest = (1..first.shard_count).map(read).collect::<Vec<_>>();
        std::iter::once(first).chain(rest).collect()
    }

    /// Checks that no shard has more than it can hold, whatever is going on.
    pub(crate) fn check_capacity(&self, entity: &str) {
        for shard in self.read_shards(entity) {
            let over = |meter: &&Meter| meter.level.tokens > shard.share(meter).capacity;
            assert_eq!(shard.meters.iter().find(over), None, "{shard:?}");
        }
    }

    /// Makes the first shard of a bucket look hot, so that the next who writes to it splits the bucket.
    pub(crate) fn heat(&self, entity: &str) {
        let Table::Dynamo(store, _) = &self.table else { return };
        let update = Update::default().set("b_wcu_tk", HEAT);
        let write = Write::update(TABLE, self.key(entity, 0), update).when(attr("PK").exists());
        let written = patiently(async || store.write(write.clone()).await);
        assert!(self.runtime.block_on(written).is_applied());
    }

    fn key(&self, entity: &str, shard: u32) -> Key {
        let (entity, resource) = (EntityId::new(entity).unwrap(), Resource::new(RESOURCE).unwrap());
        keys::bucket(self.ns.as_ref().unwrap(), &entity, &resource, shard)
    }

    fn get(&self, key: Key) -> Option<Item> {
        self.get_from(TABLE, key)
    }

    /// An item of a table, as it is stored.
    pub(crate) fn get_from(&self, table: &str, key: Key) -> Option<Item> {
        let get = Get::new(table, key);
        self.runtime.block_on(async {
            match &self.table {
                Table::Embedded(data) => {
                    Client::find(data).await.unwrap().expect("a server").get(&get).await.unwrap()
                }
                Table::Dynamo(store, _) => patiently(async || store.get(&get).await).await,
            }
        })
    }
}

/// A folder of its own, with this configuration file in it.
fn folder_with(config: &str) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("weir.toml"), config).unwrap();
    folder
}

/// A limit, and how many tokens of it there are when a run begins.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limit {
    pub(crate) name: &'static str,
    pub(crate) capacity: i64,
    pub(crate) start: i64,
    pub(crate) refill: i64,
    pub(crate) period_secs: i64,
}

impl Limit {
    fn to_json(self) -> Value {
        json!({"name": self.name, "capacity": self.capacity, "refill_amount": self.refill,
            "refill_period_seconds": self.period_secs})
    }
}

/// Asks DynamoDB Local until it answers: under load it gives up waiting for its own lock.
async fn patiently<T>(ask: impl AsyncFn() -> weir_table::Result<T>) -> T {
    for _ in 0..LOOKS_MAX {
        match ask().await {
            Err(weir_table::Error::Unavailable(_)) => {}
            answer => return answer.unwrap(),
        }
    }
    panic!("the store does not answer");
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap()
}
