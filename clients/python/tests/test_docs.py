"""The guide and the README show the truth.

The Python blocks of a document are one program, run from top to bottom against a server of its own. A `text` block right after a
Python block is what that prints; `…` stands for any text.
"""

import asyncio
import contextlib
import io
import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from server import ADMIN_KEY, Server

ROOT = Path(__file__).parents[1]
DOCUMENTS = [ROOT / "README.md", ROOT.parents[1] / "docs" / "python.md"]
BLOCK = re.compile(r"^```python\n(.*?)^```\n(?:\n```text\n(.*?)^```\n)?", re.DOTALL | re.MULTILINE)

AWAITS = re.compile(r"^(await|async with|async for) ", re.MULTILINE)


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_the_programs_of_a_document_print_what_it_shows(
    own_server: Server, document: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = document.read_text(encoding="utf-8")
    blocks = list(BLOCK.finditer(text))
    assert len(blocks) == text.count("```python"), "every block is run"
    assert len(blocks) >= 3
    prepare(own_server, monkeypatch, tmp_path)
    names: dict[str, object] = {"__name__": "__main__"}
    for block in blocks:
        line = text[: block.start()].count("\n") + 1
        printed = run(block[1], names, f"{document.name}:{line}")
        shown = block[2] or ""
        assert matches(shown, printed), f"{document.name}:{line} printed\n{printed}\nand not\n{shown}"


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_the_programs_of_a_document_have_right_types(document: Path, tmp_path: Path) -> None:
    lines: list[str] = []
    for number, block in enumerate(BLOCK.finditer(document.read_text(encoding="utf-8"))):
        awaits = AWAITS.search(block[1]) is not None
        lines += [f"async def main_{number}() -> None:", textwrap.indent(block[1], "    ")] if awaits else [block[1]]
    program = tmp_path / "program.py"
    program.write_text("\n".join(lines), encoding="utf-8")
    command = [
        sys.executable,
        "-m",
        "mypy",
        "--strict",
        "--python-version=3.10",
        "--cache-dir",
        str(tmp_path / "cache"),
        str(program),
    ]
    environment = {**os.environ, "MYPYPATH": str(ROOT / "src")}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr


def prepare(server: Server, monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """Set up the assumptions of the documents: a server, an org `acme` with an app `shop`, and where to find them."""
    server.org("acme", quota=1_000_000)
    client_id, secret = server.secret("acme")
    for name, value in {
        "WEIR_URL": server.url,
        "WEIR_ADMIN_KEY": ADMIN_KEY,
        "WEIR_QUEUE_DIR": str(folder / "queue"),
        "CLIENT_ID": client_id,
        "CLIENT_SECRET": secret,
    }.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(folder)


def run(source: str, names: dict[str, object], name: str) -> str:
    """Run a block in the names of those before it; one that awaits at the top is run on an event loop."""
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        if AWAITS.search(source):
            body = textwrap.indent(source, "    ")
            exec(compile(f"async def main():\n{body}", name, "exec"), names)
            asyncio.run(names["main"]())  # type: ignore[operator]
        else:
            exec(compile(source, name, "exec"), names)
    return output.getvalue()


def matches(shown: str, printed: str) -> bool:
    pattern = ".*".join(re.escape(part) for part in shown.split("…"))
    return re.fullmatch(pattern, printed) is not None
