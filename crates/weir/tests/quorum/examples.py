"""Runs the Python blocks of a document on a table of DynamoDB, as they are written.

    examples.py ENDPOINT TABLE DOCUMENT

Prints one JSON array with an object for each block: the items of every query that it made, in order, and the numbers and
objects that it left in variables. The blocks take two names for granted: `table` and `statistics`.
"""

import json
import re
import statistics
import sys
from decimal import Decimal

import boto3

ENDPOINT, TABLE, DOCUMENT = sys.argv[1:4]


class Recorder:
    """A table that keeps the items of each query."""

    def __init__(self, table):
        self.table, self.queries = table, []

    def query(self, **arguments):
        response = self.table.query(**arguments)
        assert "LastEvaluatedKey" not in response, "the examples read one page"
        self.queries.append(response["Items"])
        return response


def run(block, table):
    recorder = Recorder(table)
    names = {"table": recorder, "statistics": statistics}
    exec(compile(block, DOCUMENT, "exec"), names)  # the blocks are the document's
    kept = {name: value for name, value in names.items() if isinstance(value, (int, Decimal))}
    return {"queries": recorder.queries, "variables": kept, "item": names.get("item")}


def main():
    table = boto3.resource("dynamodb", endpoint_url=ENDPOINT).Table(TABLE)
    with open(DOCUMENT, encoding="utf-8") as document:
        blocks = re.findall(r"^```python\n(.*?)^```", document.read(), re.S | re.M)
    print(json.dumps([run(block, table) for block in blocks], default=str))


main()
