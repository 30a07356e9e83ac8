"""What a page computes in the reader's browser needs Python alone."""

import subprocess
import sys

IN_THE_BROWSER = (
    "batching", "chains", "copy_engines", "dag", "demand", "gantt", "global_tests", "gpu_sharing", "locks",
    "mixed_criticality", "non_preemptive", "offsets", "priorities", "random_sets", "response_time", "self_suspension",
    "servers", "simulate", "utilisation",
)  # fmt: skip


def test_no_analysis_and_no_simulation_imports_numpy():
    modules = ", ".join(f"reference.realtime.{name}" for name in IN_THE_BROWSER)
    told = f"import sys, {modules}; print(sorted({{'numpy', 'scipy', 'matplotlib', 'torch'}} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", told], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
