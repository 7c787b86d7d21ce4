"""Runs one Pulumi program. Started by the host with the program's own Python, as a script.

Imports nothing of this repository: the program's environment need not have it.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import os
import runpy
import sys
import traceback
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

# The exit code that tells the host: the user has been told already.
EXIT_TOLD = 32

# A thread waits for each resource being registered; the engine's own default would be thousands.
MOST_PARALLEL = 64
THREADS_PER_RESOURCE = 4


def parse(argv: list[str]) -> argparse.Namespace:
    """Read what the host passes."""
    parser = argparse.ArgumentParser(description="Run a Pulumi program.")
    for name in ("monitor", "engine", "project", "stack", "organization"):
        parser.add_argument(f"--{name}", default="")
    for name in ("pwd", "root_directory", "program"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--parallel", type=int, default=1)
    parser.add_argument("--dry_run", choices=("true", "false"), default="false")
    parser.add_argument("arguments", nargs="*")
    return parser.parse_args(argv)


def run_file(program: str) -> None:
    """Run the program as Python would run it from a shell."""
    path = Path(program)
    sys.path.insert(0, str(path if path.is_dir() else path.parent))
    runpy.run_path(program, run_name="__main__")


def own_traceback(problem: BaseException) -> str:
    """Format an exception without the frames that lead to the program's first line."""
    frame = problem.__traceback__
    inner = frame
    while inner is not None:
        if inner.tb_frame.f_globals.get("__name__") == "__main__" and (
            inner.tb_frame.f_code.co_filename != __file__
        ):
            frame = inner
            break
        inner = inner.tb_next
    return "".join(traceback.format_exception(type(problem), problem, frame))


def main(argv: list[str]) -> int:
    """Run the program inside a stack and report how it ended."""
    try:
        import pulumi
        import pulumi.runtime
    except ImportError as missing:
        print(
            f"{missing} in {sys.executable}: install the program's requirements there, "
            "or name its environment by the `virtualenv` option in Pulumi.yaml",
            file=sys.stderr,
        )
        return 1

    args = parse(argv)
    pulumi.runtime.set_all_config(
        pulumi.runtime.get_config_env(), pulumi.runtime.get_config_secret_keys_env()
    )
    pulumi.runtime.configure(
        pulumi.runtime.Settings(
            monitor=args.monitor,
            engine=args.engine,
            project=args.project,
            stack=args.stack,
            organization=args.organization,
            parallel=args.parallel,
            dry_run=args.dry_run == "true",
            root_directory=args.root_directory,
        )
    )
    sys.argv = [args.program, *args.arguments]
    os.chdir(args.pwd)

    # A failing program leaves futures unobserved, and asyncio would tell the user of each.
    logging.getLogger("asyncio").setLevel(logging.CRITICAL)
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    parallel = max(1, min(args.parallel, MOST_PARALLEL))
    loop.set_default_executor(ThreadPoolExecutor(parallel * THREADS_PER_RESOURCE))
    try:
        loop.run_until_complete(pulumi.runtime.run_in_stack(lambda: run_file(args.program)))
    except pulumi.RunError as problem:
        pulumi.log.error(str(problem))
        return EXIT_TOLD
    except Exception as problem:
        pulumi.log.error(f"Program failed with an unhandled exception:\n{own_traceback(problem)}")
        return EXIT_TOLD
    return 0


if __name__ == "__main__":
    status = main(sys.argv[1:])
    sys.stdout.flush()
    sys.stderr.flush()
    # Threads that wait for a resource that never comes would hold up a normal exit.
    os._exit(status)
