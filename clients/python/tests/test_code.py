"""The code passes its own checks: format, lints, types."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize(
    "check",
    [["ruff", "format", "--check"], ["ruff", "check", "--no-cache"], ["mypy", "--cache-dir=/dev/null"]],
    ids=["format", "lints", "types"],
)
def test_the_code_passes(check: list[str]) -> None:
    done = subprocess.run(
        [sys.executable, "-m", *check], cwd=ROOT, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
