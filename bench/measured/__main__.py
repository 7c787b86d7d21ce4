"""Compares predictions with measured runs: `python -m bench.measured DIR`."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from bench.measured import cases, picture_times, pictures, score, training_cases, training_score
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

null stands for what is not known. training.jsonl beside it is scored too, and of other.jsonl the
rows about images, videos, speech and embedding; throughput.jsonl is not. docs/measured.md describes
the fields and shows the results.
"""


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m bench.measured",
        description="Compare predicted with measured memory of serving engines and trainers.",
        epilog=MORE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "folder", metavar="DIR", type=Path, nargs="?", default=BESIDE, help="folder of cases"
    )
    parser.add_argument(
        "--show", metavar="N", type=int, default=SHOWN, help=f"worst rows shown (default: {SHOWN})"
    )
    parser.add_argument("--json", action="store_true", help="figures of training for machines")
    asked = parser.parse_args(arguments)
    serving, training = asked.folder / FILE, asked.folder / "training.jsonl"
    catalog = load()
    if not asked.json:
        if serving.is_file():
            found, skipped = cases.read_all(serving, catalog)
            print(score.report(score.score(found, catalog, skipped), asked.show))
        else:
            print(f"skipped: no {serving.name} in the folder given")
        drawn = asked.folder / PICTURES
        if drawn.is_file():
            print(pictures.report_pictures(pictures.score_pictures(drawn, catalog), asked.show))
            print(picture_times.report_times(picture_times.score_times(drawn, catalog)))
    if not training.is_file():
        print(f"skipped: no {training.name} in the folder given")
        return 0
    rows, left_out = training_cases.read_all(training, catalog)
    result = training_score.score(rows, catalog, left_out)
    if asked.json:
        print(json.dumps(training_score.data(result), indent=2))
    else:
        print(training_score.report(result, asked.show))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
