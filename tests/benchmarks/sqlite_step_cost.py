"""What a durable step costs over SQLite beside files, in units of the bare loop, and what it leaves on the disk.

    python tests/benchmarks/sqlite_step_cost.py [--steps 300] [--blocks 15]

The same step as ``step_cost.py``. Blocks of the bare loop, of files and of SQLite are interleaved in one run.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import shutil
import statistics
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from step_cost import bare, bytes_of_messages, durable, t_async  # type: ignore[import-not-found]

from lousho_cli import FileStore, SqliteStore


def main() -> None:
    """Prints one JSON object."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--blocks", type=int, default=15)
    parser.add_argument("--folder", default=None)
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(dir=options.folder))
    units, files, rows = [], [], []
    try:
        for block in range(options.blocks):
            unit = bare(options.steps, folder)
            file = asyncio.run(durable(options.steps, FileStore(folder / "store"), f"s{block}", t_async))
            database = folder / f"{block}.db"
            store = SqliteStore(database)
            row = asyncio.run(durable(options.steps, store, "s", t_async))
            store.close()
            units.append(unit)
            files.append(file / unit)
            rows.append(row / unit)
        size = os.path.getsize(database)
        plain = bytes_of_messages(folder, options.steps)
    finally:
        shutil.rmtree(folder)
    figures = {
        "unit_us": round(statistics.median(units) * 1e6, 1),
        "file_x_of_unit": round(statistics.median(files), 2),
        "sqlite_x_of_unit": round(statistics.median(rows), 2),
        "sqlite_x_of_file": round(statistics.median(row / file for row, file in zip(rows, files, strict=True)), 2),
        "sqlite_bytes_x_of_messages": round(size / plain, 3),
    }
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
