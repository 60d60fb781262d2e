"""Runs the Python blocks of a document on a table of DynamoDB, as they are written, and then their functions.

    examples.py ENDPOINT TABLE DOCUMENT INPUT

INPUT is a JSON object: the id of a user, and the users and problems of the database that the table came from. Prints one JSON
object with what the functions returned. The blocks take some names for granted: a client of DynamoDB, errors, a source of
ids, and the models of an ORM.
"""

import contextlib
import io
import json
import re
import sys
import types
from datetime import datetime, timedelta

import boto3

ENDPOINT, TABLE, DOCUMENT, INPUT = sys.argv[1:5]
NAME = "algoitny_main"


class Client:
    """A client with plain values, whose table has another name; a got item can be read like the answer."""

    def __init__(self):
        # The client of a resource converts plain values, as the examples write them.
        self.client = boto3.resource("dynamodb", endpoint_url=ENDPOINT).meta.client

    def query(self, **arguments):
        return self.client.query(**self.renamed(arguments))

    def scan(self, **arguments):
        # `plan` is a reserved word, so no DynamoDB takes the example by itself.
        if "dat.plan" in arguments["FilterExpression"]:
            filtered = arguments["FilterExpression"].replace("dat.plan", "dat.#plan")
            arguments |= {"FilterExpression": filtered, "ExpressionAttributeNames": {"#plan": "plan"}}
        return self.client.scan(**self.renamed(arguments))

    def put_item(self, **arguments):
        return self.client.put_item(**self.renamed(arguments))

    def get_item(self, **arguments):
        response = self.client.get_item(**self.renamed(arguments))
        return {**response, **response["Item"]}

    def batch_get_item(self, RequestItems):
        response = self.client.batch_get_item(RequestItems={TABLE: RequestItems[NAME]})
        assert not response["UnprocessedKeys"]
        return {"Responses": {NAME: response["Responses"][TABLE]}}

    @staticmethod
    def renamed(arguments):
        assert arguments["TableName"] == NAME
        return {**arguments, "TableName": TABLE}


class Rows(list):
    """Rows of a table, as an ORM offers them."""

    def order_by(self, _order):
        return self


def model(rows):
    return types.SimpleNamespace(objects=Rows(types.SimpleNamespace(**row) for row in rows))


def main():
    given = json.loads(INPUT)
    names = {
        "dynamodb": Client(),
        "datetime": datetime,
        "timedelta": timedelta,
        "generate_id": lambda: "5000",
        "User": model(given["users"]),
        "Problem": model(given["problems"]),
    }
    for error in ("RateLimitExceeded", "UserNotFound"):
        names[error] = type(error, (Exception,), {})
    printed = io.StringIO()
    with open(DOCUMENT, encoding="utf-8") as document:
        blocks = re.findall(r"^```python\n(.*?)^```", document.read(), re.S | re.M)
    with contextlib.redirect_stdout(printed):
        for block in blocks:
            if "    ...\n})" in block:
                block = block[: block.index("# Example usage:")]
            exec(compile(block, DOCUMENT, "exec"), names)  # the blocks are the document's
        names["validate_migration"]()
    result = {
        name: names[name]
        for name in ("hint_count", "user", "problem", "page1", "page2", "free_plan_users", "stats")
    }
    check, today, user = names["check_rate_limit"], names["today"], given["user"]
    result["counts"] = {action: check(user, action, today) for action in ("hint", "execution")}
    names["log_usage"](user, "hint", problem_id=100, metadata={"history_id": 5000})
    result["hints_after_log"] = check(user, "hint", today)
    result["history_id"] = names["create_search_history"](
        {"uid": 12345, "pid": 100, "cod": "def solution()...", "pub": True}
    )
    result["printed"] = printed.getvalue()
    json.dump(result, sys.stdout, default=str)


main()
