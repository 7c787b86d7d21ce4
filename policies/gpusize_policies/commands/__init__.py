"""Subcommands of `gpusize`, one module each: `parser()` describes it, `run(options)` does it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gpusize_policies.commands.options import Parser

EXIT_INPUT = 2


def run(name: str, words: list[str]) -> int:
    """Run one subcommand; problems of the input are told on standard error."""
    from importlib import import_module

    from gpusize_catalog.problems import GpuSizeError
    from gpusize_policies.commands.options import keep_inputs

    module = import_module(f"{__name__}.{name}")
    parser: Parser = module.parser()
    try:
        options = parser.parse_args(words)
        keep_inputs(options)
        code: int = module.run(options)
    except GpuSizeError as error:
        from gpusize_policies.commands.emit import tell

        tell(error.problems)
        return EXIT_INPUT
    except SystemExit as leaving:
        return leaving.code if isinstance(leaving.code, int) else EXIT_INPUT
    return code
