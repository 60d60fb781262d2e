"""A client process under load: `load.py URL KEY ORG QUEUE LOG STOP`.

It takes leases and reports usage, and appends to LOG: a line `intent TOKENS` before `report()`, `report TOKENS` after it has
returned, and `settled TOKENS` after a lease was committed. It ends when the file STOP is there.
"""

import os
import random
import sys
from pathlib import Path

import weir

url, key, org, queue, log_file, stop = sys.argv[1:]
log = os.open(log_file, os.O_WRONLY | os.O_APPEND | os.O_CREAT)


def note(text: str) -> None:
    os.write(log, (text + "\n").encode())


def main() -> None:
    client = weir.Client(url, api_key=key)
    limiter, budget = client.limiter(), client.budget(org, "shop", queue_dir=queue)
    while not Path(stop).exists():
        tokens = random.randrange(1, 50)
        with limiter.acquire(org, "load", tpm=100) as lease:
            lease.actual(tpm=tokens)
        note(f"settled {tokens}")
        for _ in range(5):
            note(f"intent {tokens}")
            budget.report("premium", model_id="amazon.nova-lite-v1:0", input_tokens=tokens, output_tokens=1)
            note(f"report {tokens}")
    assert budget.close(30), budget.last_error
    assert not budget.dead_letters(), budget.dead_letters()


main()
