"""Writes weir.json, the CloudFormation template, from ../tables.json.

    python3 generate.py           writes the template
    python3 generate.py --check   fails if the template differs from what it would write
"""

import json
import sys
from pathlib import Path

HERE = Path(__file__).parent
TEMPLATE = HERE / "weir.json"

# The slowest hundredth of an operation may take this long, in milliseconds.
LATENCY_MAX_MS = {"GetItem": 50, "Query": 50, "PutItem": 100, "UpdateItem": 100, "TransactWriteItems": 100}

SERVER_ACTIONS = [
    "BatchGetItem", "BatchWriteItem", "ConditionCheckItem", "DeleteItem", "DescribeTable", "DescribeTimeToLive",
    "GetItem", "PutItem", "Query", "UpdateItem",
]
FEED_ACTIONS = ["DescribeStream", "GetRecords", "GetShardIterator"]

# DynamoDB counts its own errors by operation only, and an alarm takes at most ten metrics.
OPERATIONS = [
    "BatchGetItem", "BatchWriteItem", "DeleteItem", "GetItem", "PutItem", "Query", "Scan", "TransactGetItems",
    "TransactWriteItems", "UpdateItem",
]

PARAMETERS = {
    "Prefix": {"Type": "String", "Default": "", "AllowedPattern": "[A-Za-z0-9_.-]*",
               "Description": "Prefix of all table names: Weir's setting store.table_prefix."},
    "KmsKeyArn": {"Type": "String", "Default": "",
                  "Description": "Key that encrypts the tables. Without it DynamoDB uses the AWS managed key of the account."},
    "BucketArn": {"Type": "String", "Default": "",
                  "Description": "S3 bucket of raw outputs, large texts, exports and archives: reviews.raw, practice.objects, "
                                 "keeper.export and limiter.audit_archive. The policies let servers and commands use it."},
    "AlarmTopicArn": {"Type": "String", "Default": "",
                      "Description": "SNS topic that alarms notify. Without it there are no budgets. Its policy must let "
                                     "budgets.amazonaws.com publish."},
    "DailyCostMaxUsd": {"Type": "Number", "Default": 10,
                        "Description": "Cost of the requests to one table in a day, in USD, above which an alarm goes off."},
    "DailyBudgetUsd": {"Type": "Number", "Default": 10,
                       "Description": "Cost of DynamoDB in the account in a day, in USD, above which a budget notifies the topic."},
    "MonthlyBudgetUsd": {"Type": "Number", "Default": 250,
                         "Description": "Projected cost of DynamoDB in the account in a month, in USD, above which a budget "
                                        "notifies the topic."},
    "UsdPerMillionWrites": {"Type": "Number", "Default": 0.625,
                            "Description": "Price of a million write request units in the region, in USD."},
    "UsdPerMillionReads": {"Type": "Number", "Default": 0.125,
                           "Description": "Price of a million read request units in the region, in USD."},
}

CONDITIONS = {
    "HasKey": {"Fn::Not": [{"Fn::Equals": [{"Ref": "KmsKeyArn"}, ""]}]},
    "HasBucket": {"Fn::Not": [{"Fn::Equals": [{"Ref": "BucketArn"}, ""]}]},
    "HasTopic": {"Fn::Not": [{"Fn::Equals": [{"Ref": "AlarmTopicArn"}, ""]}]},
}


def resource_id(name):
    """The id of a table in the template: `weir-keeper-config` is WeirKeeperConfig."""
    return "".join(part.capitalize() for part in name.replace("_", "-").split("-"))


def key_schema(keys):
    schema = [{"AttributeName": keys["partition"], "KeyType": "HASH"}]
    if "sort" in keys:
        schema.append({"AttributeName": keys["sort"], "KeyType": "RANGE"})
    return schema


def table(spec):
    properties = {
        "TableName": {"Fn::Sub": "${Prefix}" + spec["name"]},
        "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [
            {"AttributeName": name, "AttributeType": kind} for name, kind in spec["attributes"].items()],
        "KeySchema": key_schema(spec),
        "DeletionProtectionEnabled": True,
        "PointInTimeRecoverySpecification": {"PointInTimeRecoveryEnabled": True},
        "SSESpecification": {
            "SSEEnabled": True,
            "SSEType": "KMS",
            "KMSMasterKeyId": optional("HasKey", {"Ref": "KmsKeyArn"}),
        },
    }
    if spec["indexes"]:
        properties["GlobalSecondaryIndexes"] = [
            {"IndexName": index["name"], "KeySchema": key_schema(index),
             "Projection": {"ProjectionType": index["projection"].upper()}} for index in spec["indexes"]]
    if "ttl" in spec:
        properties["TimeToLiveSpecification"] = {"AttributeName": spec["ttl"], "Enabled": True}
    if spec["feed"]:
        properties["StreamSpecification"] = {"StreamViewType": "NEW_AND_OLD_IMAGES"}
    return {"Type": "AWS::DynamoDB::Table", "DeletionPolicy": "Retain", "UpdateReplacePolicy": "Retain",
            "Properties": properties}


def arn(spec, attribute="Arn"):
    return {"Fn::GetAtt": [resource_id(spec["name"]), attribute]}


def statement(sid, actions, resources, service="dynamodb"):
    return {"Sid": sid, "Effect": "Allow", "Action": [f"{service}:{action}" for action in actions], "Resource": resources}


def optional(condition, value):
    return {"Fn::If": [condition, value, {"Ref": "AWS::NoValue"}]}


def policies(specs):
    """The policies of servers, and of commands, which also list tables."""
    tables = [arn(spec) for spec in specs]
    indexes = [{"Fn::Sub": "${" + resource_id(spec["name"]) + ".Arn}/index/*"} for spec in specs if spec["indexes"]]
    objects = ["AbortMultipartUpload", "DeleteObject", "GetObject", "PutObject"]
    server = [
        statement("Items", SERVER_ACTIONS, tables + indexes),
        statement("Scan", ["Scan"], tables),
        statement("Feeds", FEED_ACTIONS, [arn(spec, "StreamArn") for spec in specs if spec["feed"]]),
        optional("HasKey", statement("Key", ["Decrypt", "DescribeKey"], {"Ref": "KmsKeyArn"}, "kms")),
        optional("HasBucket", statement("Objects", objects, {"Fn::Sub": "${BucketArn}/*"}, "s3")),
        optional("HasBucket", statement("Bucket", ["ListBucket"], {"Ref": "BucketArn"}, "s3")),
    ]
    operator = [*server, statement("List", ["ListTables"], "*")]
    return {
        name: {"Type": "AWS::IAM::ManagedPolicy", "Properties": {
            "Description": description, "PolicyDocument": {"Version": "2012-10-17", "Statement": statements}}}
        for name, description, statements in [
            ("ServerPolicy", "Lets a running Weir server use its tables.", server),
            ("OperatorPolicy", "Lets the commands of Weir use its tables and list the tables of the account.", operator),
        ]
    }


def alarm(spec, name, description, threshold, metric):
    return {resource_id(spec["name"]) + name: {"Type": "AWS::CloudWatch::Alarm", "Properties": {
        "AlarmDescription": description,
        "ComparisonOperator": "GreaterThanThreshold",
        "EvaluationPeriods": 1,
        "Threshold": threshold,
        "TreatMissingData": "notBreaching",
        "AlarmActions": optional("HasTopic", [{"Ref": "AlarmTopicArn"}]),
        **metric,
    }}}


def dimensions(spec, **others):
    named = {"TableName": {"Ref": resource_id(spec["name"])}, **others}
    return [{"Name": name, "Value": value} for name, value in named.items()]


def metric(name, metric_name, period, dimensions):
    return {"Id": name, "ReturnData": False, "MetricStat": {"Stat": "Sum", "Period": period, "Metric": {
        "Namespace": "AWS/DynamoDB", "MetricName": metric_name, "Dimensions": dimensions}}}


def alarms(spec):
    found = {}
    for what in ("Read", "Write"):
        found |= alarm(spec, f"Throttled{what}s", f"DynamoDB throttles {what.lower()}s: look for a hot partition key.", 100, {
            "Namespace": "AWS/DynamoDB", "MetricName": f"{what}ThrottleEvents", "Dimensions": dimensions(spec),
            "Statistic": "Sum", "Period": 300})
        # DynamoDB throttles the writes to a table whose index cannot keep up, so one throttle of an index is one too many.
        for index in spec["indexes"]:
            found |= alarm(
                spec, f"{index['name']}Throttled{what}s",
                f"DynamoDB throttles {what.lower()}s of the index {index['name']}: look for a hot partition key.", 0, {
                    "Namespace": "AWS/DynamoDB", "MetricName": f"{what}ThrottleEvents",
                    "Dimensions": dimensions(spec, GlobalSecondaryIndexName=index["name"]), "Statistic": "Sum", "Period": 300})
    errors = [metric(operation.lower(), "SystemErrors", 300, dimensions(spec, Operation=operation)) for operation in OPERATIONS]
    total = {"Id": "errors", "Label": "System errors", "ReturnData": True, "Expression": "SUM(FILL(METRICS(), 0))"}
    found |= alarm(spec, "SystemErrors", "DynamoDB fails with errors of its own; the servers retry.", 0, {
        "Metrics": [total, *errors], "EvaluationPeriods": 3, "DatapointsToAlarm": 2})
    for operation, max_ms in LATENCY_MAX_MS.items():
        found |= alarm(spec, f"{operation}Latency",
                       f"The slowest hundredth of {operation} takes more than {max_ms} ms.", max_ms, {
                           "Namespace": "AWS/DynamoDB", "MetricName": "SuccessfulRequestLatency",
                           "Dimensions": dimensions(spec, Operation=operation), "ExtendedStatistic": "p99", "Period": 300,
                           "EvaluationPeriods": 3})
    consumed = [metric("writes", "ConsumedWriteCapacityUnits", 86400, dimensions(spec)),
                metric("reads", "ConsumedReadCapacityUnits", 86400, dimensions(spec))]
    cost = {"Id": "cost", "Label": "USD in a day", "ReturnData": True, "Expression": {
        "Fn::Sub": "(FILL(writes, 0) * ${UsdPerMillionWrites} + FILL(reads, 0) * ${UsdPerMillionReads}) / 1000000"}}
    return found | alarm(spec, "Cost", "Requests to the table cost more than the limit in a day.",
                         {"Ref": "DailyCostMaxUsd"}, {"Metrics": [cost, *consumed]})


def budgets():
    """The sum of all tables in the account, as billed: storage, streams and backups are part of it."""
    return {
        f"{unit.capitalize()}Budget": {"Type": "AWS::Budgets::Budget", "Condition": "HasTopic", "Properties": {
            "Budget": {
                "BudgetName": {"Fn::Sub": "${AWS::StackName}-weir-" + unit}, "BudgetType": "COST", "TimeUnit": unit.upper(),
                "BudgetLimit": {"Amount": {"Ref": f"{unit.capitalize()}BudgetUsd"}, "Unit": "USD"},
                "CostFilters": {"Service": ["Amazon DynamoDB"]}},
            "NotificationsWithSubscribers": [{
                "Notification": {"NotificationType": kind, "ComparisonOperator": "GREATER_THAN", "Threshold": 100,
                                 "ThresholdType": "PERCENTAGE"},
                "Subscribers": [{"SubscriptionType": "SNS", "Address": {"Ref": "AlarmTopicArn"}}]}]}}
        for unit, kind in [("daily", "ACTUAL"), ("monthly", "FORECASTED")]}


def template(specs):
    resources = {resource_id(spec["name"]): table(spec) for spec in specs} | policies(specs) | budgets()
    for spec in specs:
        resources |= alarms(spec)
    return {
        "AWSTemplateFormatVersion": "2010-09-09",
        "Description": "The tables of Weir, the policies that use them, their alarms, and budgets.",
        "Parameters": PARAMETERS,
        "Conditions": CONDITIONS,
        "Resources": resources,
        "Outputs": {
            name: {"Description": description, "Value": {"Ref": policy}}
            for name, description, policy in [
                ("ServerPolicyArn", "Policy for the role of the servers.", "ServerPolicy"),
                ("OperatorPolicyArn", "Policy for people and programs that run commands.", "OperatorPolicy"),
            ]
        },
    }


def main():
    text = json.dumps(template(json.loads((HERE.parent / "tables.json").read_text())), indent=1) + "\n"
    if sys.argv[1:] == ["--check"]:
        if TEMPLATE.read_text() != text:
            sys.exit("infra/cloudformation/weir.json is stale: run infra/cloudformation/generate.py")
    else:
        TEMPLATE.write_text(text)


main()
