"""The code passes its own checks (format, lints, types), and is code of the oldest Python that it is for."""

import ast
import shutil
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


OLDEST = (3, 10)
FILES = sorted([*(ROOT / "src").rglob("*.py"), *(ROOT / "tests").glob("*.py")])


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_the_code_has_the_syntax_of_the_oldest_python(file: Path) -> None:
    ast.parse(file.read_text(encoding="utf-8"), feature_version=OLDEST)


PROGRAM = """
import importlib, pkgutil, sys
assert sys.version_info[:2] == (3, 10), sys.version
import weir
for module in pkgutil.walk_packages(weir.__path__, "weir."):
    importlib.import_module(module.name)
once = weir.RetryPolicy(attempts=1)
try:
    weir.Client("http://127.0.0.1:9", api_key="any", retry=once).whoami()
except weir.Unreachable:
    print("unreachable")
"""


def test_the_code_runs_on_the_oldest_python() -> None:
    """The packages that it imports here are pure Python, so an interpreter is all that it takes."""
    python = shutil.which("python3.10")
    if python is None or subprocess.run([python, "-c", ""], capture_output=True).returncode:
        pytest.skip("there is no Python 3.10 here")
    paths = [str(ROOT / "src"), *(path for path in sys.path if path.endswith("site-packages"))]
    program = f"import sys; sys.path += {paths!r}\n{PROGRAM}"
    done = subprocess.run([python, "-c", program], capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.returncode) == ("unreachable\n", 0), done.stderr
