"""The original zae-limiter, driven over standard input and output.

    original.py ENDPOINT TABLE

Each line in is one call, `{"verb": NAME, ARGUMENT: VALUE, …}`; each line out is its
answer: `{"ok": VALUE}`, `{"refused": [LIMIT, …]}` or `{"error": {"kind", "text"}}`.
The verbs are the methods of `Original`. Nothing is done but what the library does:
a verb is one call of it, so that what the tests see is how the original behaves.
"""

import dataclasses
import json
import os
import sys
import warnings
from decimal import Decimal

ENDPOINT, TABLE = sys.argv[1:3]
# The aggregator takes no endpoint, so it is told the way all of AWS's libraries are.
os.environ["AWS_ENDPOINT_URL"] = ENDPOINT
warnings.simplefilter("ignore")

import boto3  # noqa: E402  (both read the variable above)
from zae_limiter import (  # noqa: E402
    InvalidNameError,
    Limit,
    RateLimitExceeded,
    SyncRateLimiter,
    SyncRepository,
)
from zae_limiter import schema  # noqa: E402

USAGE_WINDOWS = ["hourly", "daily"]
STREAM_PAGES_MAX = 100


class Original:
    def __init__(self):
        self.repository = self.limiter = None
        self.held, self.leases = {}, 0

    # --- the table and namespaces -------------------------------------------

    def create_table(self, expires=True):
        """What its CloudFormation template makes, without the Lambda."""
        client = boto3.client("dynamodb")
        client.create_table(**schema.get_table_definition(TABLE))
        if expires:
            ttl = {"Enabled": True, "AttributeName": "ttl"}
            client.update_time_to_live(TableName=TABLE, TimeToLiveSpecification=ttl)

    def expiry(self):
        """The attribute by which items of the table expire."""
        found = boto3.client("dynamodb").describe_time_to_live(TableName=TABLE)
        return found["TimeToLiveDescription"].get("AttributeName")

    def open(self, namespace="default", auto_update=False):
        # No caching of config: a limit that Weir sets is to bind at once.
        self.repository = SyncRepository.open(
            namespace, stack=TABLE, endpoint_url=ENDPOINT, auto_update=auto_update, config_cache_ttl=0
        )
        self.limiter = SyncRateLimiter(repository=self.repository)
        return self.repository.namespace_id

    def version(self):
        return self.repository.get_version_record()

    def register_namespace(self, name):
        return self.repository.register_namespace(name)

    def namespaces(self):
        return self.repository.list_namespaces()

    def orphans(self):
        return self.repository.list_orphan_namespaces()

    def delete_namespace(self, name):
        self.repository.delete_namespace(name)

    def recover_namespace(self, id):
        return self.repository.recover_namespace(id)

    def purge_namespace(self, id):
        self.repository.purge_namespace(id)

    # --- entities -----------------------------------------------------------

    def create_entity(self, id, **rest):
        return self.limiter.create_entity(id, **rest)

    def entity(self, id):
        return self.limiter.get_entity(id)

    def children(self, id):
        return self.limiter.get_children(id)

    def delete_entity(self, id):
        self.limiter.delete_entity(id)

    # --- config -------------------------------------------------------------

    def set_limits(self, limits, entity=None, resource=None, **rest):
        """At the level that the arguments name: entity, resource, or neither for the system."""
        limits = [quota(**limit) if "cron" in limit else Limit(**limit) for limit in limits]
        if entity:
            self.limiter.set_limits(entity, limits, resource or schema.DEFAULT_RESOURCE, **rest)
        elif resource:
            self.limiter.set_resource_defaults(resource, limits, **rest)
        else:
            self.repository.set_system_defaults(limits, **rest)

    def delete_limits(self, entity=None, resource=None):
        if entity:
            self.limiter.delete_limits(entity, resource or schema.DEFAULT_RESOURCE)
        elif resource:
            self.limiter.delete_resource_defaults(resource)
        else:
            self.limiter.delete_system_defaults()

    def resolve(self, entity, resource):
        limits, _, source = self.repository.resolve_limits(entity, resource)
        return {"limits": limits, "source": source}

    def on_unavailable(self):
        return self.repository.resolve_on_unavailable()

    def resources(self):
        return self.limiter.list_resources_with_defaults()

    def custom_entities(self, resource):
        return self.limiter.list_entities_with_custom_limits(resource)[0]

    def custom_resources(self):
        return self.limiter.list_resources_with_entity_configs()

    # --- leases -------------------------------------------------------------

    def acquire(self, entity, resource, consume):
        """Takes and commits; what was taken."""
        with self.limiter.acquire(entity, resource, consume) as lease:
            return lease.consumed

    def hold(self, entity, resource, consume):
        """Takes and keeps the lease open; its number."""
        held = self.limiter.acquire(entity, resource, consume)
        lease = held.__enter__()
        self.leases += 1
        self.held[self.leases] = (held, lease)
        return self.leases

    def adjust(self, lease, amounts):
        self.held[lease][1].adjust(**amounts)

    def release(self, lease, amounts):
        self.held[lease][1].release(**amounts)

    def commit(self, lease):
        self.held.pop(lease)[0].__exit__(None, None, None)

    def rollback(self, lease):
        failure = RuntimeError("rolled back")
        try:
            self.held.pop(lease)[0].__exit__(RuntimeError, failure, None)
        except RuntimeError as raised:
            if raised is not failure:
                raise

    # --- what there is ------------------------------------------------------

    def buckets(self, entity):
        return self.repository.get_buckets(entity)

    def available(self, entity, resource):
        return self.limiter.available(entity, resource)

    def capacity(self, resource, limit):
        return self.limiter.get_resource_capacity(resource, limit)

    def audit(self, entity):
        return self.limiter.get_audit_events(entity)

    def usage(self, entity=None, resource=None, window=None):
        return self.limiter.get_usage_snapshots(entity, resource, window)[0]

    def aggregate(self):
        """One run of its Lambda over everything the stream still has."""
        from zae_limiter_aggregator import processor

        result = processor.process_stream_records(stream(), TABLE, USAGE_WINDOWS)
        if result.errors:
            raise RuntimeError("; ".join(result.errors))
        return result.snapshots_updated

    def call(self, name, **arguments):
        """Any other method of its repository."""
        return getattr(self.repository, name)(**arguments)

    # --- behind its back: the items as they are stored ----------------------

    def keys_of(self, id):
        """The keys of everything in a namespace, found without an index."""
        pages = boto3.client("dynamodb").get_paginator("scan").paginate(TableName=TABLE)
        keys = [item["PK"]["S"] + " " + item["SK"]["S"] for page in pages for item in page["Items"]]
        return [key for key in keys if key.startswith(f"{id}/")]

    def item(self, pk, sk):
        key = {"PK": f"{self.repository.namespace_id}/{pk}", "SK": sk}
        return boto3.resource("dynamodb").Table(TABLE).get_item(Key=key).get("Item")

    def replace_item(self, pk, sk, attributes):
        """An item with these attributes and no others; none deletes it."""
        key = {"PK": f"{self.repository.namespace_id}/{pk}", "SK": sk}
        table = boto3.resource("dynamodb").Table(TABLE)
        table.put_item(Item=attributes | key) if attributes else table.delete_item(Key=key)


def quota(name, capacity, cron):
    """A limit of newer releases, which is renewed by the calendar."""
    return Limit.quota(name, capacity, cron=cron)


def stream():
    """The records that the table's stream has now, shard by shard."""
    arn = boto3.client("dynamodb").describe_table(TableName=TABLE)["Table"]["LatestStreamArn"]
    client = boto3.client("dynamodbstreams")
    records = []
    for shard in client.describe_stream(StreamArn=arn)["StreamDescription"]["Shards"]:
        at = client.get_shard_iterator(
            StreamArn=arn, ShardId=shard["ShardId"], ShardIteratorType="TRIM_HORIZON"
        )["ShardIterator"]
        for _ in range(STREAM_PAGES_MAX):
            page = client.get_records(ShardIterator=at)
            records += page["Records"]
            at = page.get("NextShardIterator")
            if not page["Records"] or not at:
                break
    return records


def answer(original, call):
    try:
        return {"ok": getattr(original, call.pop("verb"))(**call)}
    except RateLimitExceeded as refusal:
        return {"refused": refusal.statuses}
    except InvalidNameError as error:
        # How 0.10.3 refuses on behalf of an empty parent: building that refusal, it trips
        # over the limit of its own that it keeps on every bucket.
        if "'wcu' is a reserved limit name" in str(error):
            return {"refused": []}
        return failure(error)
    except Exception as error:
        return failure(error)


def failure(error):
    return {"error": {"kind": type(error).__name__, "text": str(error)}}


def plain(value):
    if dataclasses.is_dataclass(value):
        return dataclasses.asdict(value)
    if isinstance(value, Decimal):
        return int(value)
    return list(value) if isinstance(value, set) else str(value)


def main():
    # The aggregator logs to standard output, which is ours.
    answers, sys.stdout = sys.stdout, open(os.devnull, "w")
    original = Original()
    for line in sys.stdin:
        print(json.dumps(answer(original, json.loads(line)), default=plain), file=answers, flush=True)


main()
