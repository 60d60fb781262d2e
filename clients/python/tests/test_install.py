"""The client installs into an empty environment, and needs nothing of the repository then."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from server import ADMIN_KEY, Server

ROOT = Path(__file__).parents[1]
WHEELS = Path(sys.prefix) / "wheels"

PROGRAM = """
import sys, weir
assert sys.prefix in weir.__file__, weir.__file__
assert weir.__version__ == "0.1.0"
limits = [weir.Limit.per_minute("tpm", 100)]
with weir.Client(sys.argv[1], api_key=sys.argv[2]) as client:
    with client.limiter().acquire("installed", "gpt-4", tpm=60, limits=limits) as lease:
        lease.actual(tpm=20)
    print(lease.limits[0].available)
"""


def test_the_client_installs_into_an_empty_environment(server: Server, tmp_path: Path) -> None:
    assert WHEELS.is_dir(), "the wheels are missing: run `make setup`"
    # Building leaves files beside the sources.
    shutil.copytree(
        ROOT, tmp_path / "source", ignore=shutil.ignore_patterns("tests", "__pycache__", "*.egg-info", "build")
    )
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PIP_", "PYTHON"))}
    environment["PIP_CONFIG_FILE"] = os.devnull

    def run(*command: str | Path) -> str:
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr + done.stdout
        return done.stdout

    run(sys.executable, "-m", "venv", tmp_path / "venv")
    python = tmp_path / "venv" / "bin" / "python"
    run(python, "-m", "pip", "install", "--quiet", "--no-index", "--find-links", WHEELS, tmp_path / "source")
    assert run(python, "-c", PROGRAM, server.url, ADMIN_KEY) == "40\n"
    typed = run(python, "-c", "import weir, pathlib; print((pathlib.Path(weir.__file__).parent / 'py.typed').exists())")
    assert typed == "True\n"
    listed = run(python, "-m", "pip", "list", "--format", "freeze").split()
    names = {line.split("==")[0].lower() for line in listed}
    expected = {"anyio", "certifi", "h11", "httpcore", "httpx", "idna", "pip", "typing_extensions", "weir-client"}
    # The environment begins with setuptools on some Pythons.
    assert names - {"setuptools"} <= expected
    assert {"httpx", "weir-client"} <= names
