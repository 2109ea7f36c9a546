"""Nothing that Tenure loads reports to its maker or leaves an identifier on the machine."""

import os
import subprocess
import sys
from pathlib import Path

_EMBED = """
import asyncio
from tenure.adapters.onnx_embedder import OnnxEmbedder

async def embed():
    embedder = OnnxEmbedder()
    await embedder.embed_query("dig the garden")
    await embedder.close()

asyncio.run(embed())
"""


def test_embedding_leaves_nothing_in_the_users_home(tmp_path: Path) -> None:
    left = {name: value for name, value in os.environ.items() if not name.startswith(("XDG_", "ORT_"))}
    subprocess.run([sys.executable, "-c", _EMBED], check=True, env={**left, "HOME": str(tmp_path)})
    assert list(tmp_path.rglob("*")) == []
