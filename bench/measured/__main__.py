"""Compares predictions with measured runs: `python -m bench.measured DIR`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from bench.measured.cases import read_all
from bench.measured.pictures import report_pictures, score_pictures
from bench.measured.score import report, score
from gpusize_catalog.store import load

FILE = "serving.jsonl"
BESIDE = Path("../shared/cases")
PICTURES = "other.jsonl"
SHOWN = 8

MORE = f"""\
DIR holds {FILE}: one measured run a line, a JSON object with

  model, engine, engine_version, weights_dtype_quantization, kv_dtype, max_model_len,
  max_num_seqs, max_num_batched_tokens, enforce_eager, gpu_memory_utilization, gpu,
  gpu_total_gib, n_gpus, tensor_parallel, pipeline_parallel, data_parallel, sanity, and
  measured: weights_gib_per_gpu, kv_available_gib_per_gpu, max_concurrency, kv_tokens, fits

null stands for what is not known. Image and video rows of other.jsonl beside it are scored too;
training.jsonl and throughput.jsonl may lie there and are not. docs/measured.md describes the
fields and shows the results.
"""


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m bench.measured",
        description="Compare predicted with measured memory and capacity of serving engines.",
        epilog=MORE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "folder", metavar="DIR", type=Path, nargs="?", default=BESIDE, help="folder of cases"
    )
    parser.add_argument(
        "--show", metavar="N", type=int, default=SHOWN, help=f"worst rows shown (default: {SHOWN})"
    )
    options = parser.parse_args(arguments)
    catalog = load()
    path = options.folder / FILE
    if path.is_file():
        cases, skipped = read_all(path, catalog)
        print(report(score(cases, catalog, skipped), options.show))
    else:
        print(f"skipped: no {FILE} in the folder given")
    pictures = options.folder / PICTURES
    if pictures.is_file():
        print(report_pictures(score_pictures(pictures, catalog), options.show))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
