"""libCacheSim's policies, recorded: which accesses of a few made-up traces hit, by an implementation that is not ours.

    python -m tests.caching.libcachesim_hits            # record anew; the first time, or for another version
    python -m tests.caching.libcachesim_hits --check    # run again, and compare with what is recorded

test_policies.py compares our policies with the record, so that the tests do not need libCacheSim, which brings much
that the course does not use. This program installs it from the package index into a folder that is thrown away.
The record has, by "TRACE, CAPACITY, POLICY", the hits as hexadecimal digits, and "about", with version and date.
"""

from __future__ import annotations

import datetime
import json
import random
import subprocess
import sys
import tempfile
from pathlib import Path

VERSION = "0.3.5"
RECORD = Path(__file__).parent / "data" / "libcachesim.json"
POLICIES = {"LRU": {}, "LFU": {}, "LRUK": {"k": 2}, "ARC": {}, "Belady": {}}
CAPACITIES = (5, 20, 60)
ACCESSES = 3000


def traces() -> dict[str, list[int]]:
    """The traces: a popular few, scans between them, loops, and favourites that change."""
    draw = random.Random(12)
    weights = [1 / (i + 1) ** 0.9 for i in range(200)]
    popular = draw.choices(range(200), weights, k=ACCESSES)
    scans = [key if i % 300 < 200 else 1000 + i % 100 for i, key in enumerate(popular)]
    zigzag = [min(i % 80, 79 - i % 80 + 40) for i in range(ACCESSES)]
    moving = [draw.randrange(15) + 10 * (i // 200) if draw.random() < 0.8 else draw.randrange(400) for i in range(3000)]
    return {"popular": popular, "scans": scans, "zigzag": zigzag, "moving": moving}


def record(folder: str) -> dict[str, str]:
    """Install, and run each trace through each policy."""
    pip = [sys.executable, "-m", "pip", "install", "-qq", "--disable-pip-version-check", "--target", folder]
    subprocess.run([*pip, f"libcachesim=={VERSION}"], check=True)
    sys.path.insert(0, folder)
    import libcachesim

    found = {}
    for trace, keys in traces().items():
        following, seen = [2**62] * len(keys), {}
        for now in reversed(range(len(keys))):
            following[now], seen[keys[now]] = seen.get(keys[now], 2**62), now
        for capacity in CAPACITIES:
            for policy, given in POLICIES.items():
                cache, hits = getattr(libcachesim, policy)(capacity, hashpower=12, **given), ""
                for key, after in zip(keys, following):
                    request = libcachesim.Request(obj_id=key, obj_size=1, next_access_vtime=after)
                    hits += str(int(cache.get(request)))
                found[f"{trace}, {capacity}, {policy}"] = f"{int(hits, 2):x}"
    return found


def main() -> int:
    """Check, or make a new record."""
    with tempfile.TemporaryDirectory() as folder:
        found = record(folder)
    if "--check" in sys.argv:
        kept = json.loads(RECORD.read_text())
        other = [name for name, hits in found.items() if kept[name] != hits]
        print(f"{len(found)} runs, {len(other)} differ from the record", *other, sep="\n")
        return int(bool(other))
    RECORD.parent.mkdir(exist_ok=True)
    about = f"libCacheSim {VERSION} (PyPI), run on {datetime.date.today()}"
    RECORD.write_text(json.dumps({"about": about} | found, indent=0))
    print(f"{RECORD}: {RECORD.stat().st_size:,} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
