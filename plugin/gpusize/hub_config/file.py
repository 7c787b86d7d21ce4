"""Opens a `config.json` within limits."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from gpusize_catalog.problems import GpuSizeError, Problem

MAX_BYTES = 2**20
"""Largest file read; the longest known configurations have 40 kB."""
FILE_NAME = "config.json"
QUANTIZATION_NAME = "hf_quant_config.json"
"""Where ModelOpt checkpoints say how they are quantized."""


def load_config(path: str, base_dir: Path | None = None) -> dict[str, Any]:
    """Return the JSON object in a file, relative to `base_dir`."""
    file = (base_dir or Path()) / path
    if file.suffix != ".json":
        file = file / FILE_NAME
    data = _object(_text(file, path), path)
    beside = file.with_name(QUANTIZATION_NAME)
    if "quantization_config" not in data and file.name == FILE_NAME and beside.is_file():
        data["quantization_config"] = _object(_text(beside, path), path).get("quantization")
    return data


def _text(file: Path, path: str) -> str:
    try:
        with file.open("rb") as stream:
            content = stream.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else "not a path"
        raise _error(
            path, f"cannot be read: {reason}", "give a path beside the declaration"
        ) from None
    if len(content) > MAX_BYTES:
        raise _error(path, f"is larger than {MAX_BYTES} bytes", "give the model's config.json")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise _error(path, "is not text in UTF-8", "give the model's config.json") from None


def _object(text: str, path: str) -> dict[str, Any]:
    import json

    try:
        data = json.loads(text)
    except json.JSONDecodeError as error:
        told = f"is not valid JSON: {error.msg}"
        problem = Problem("model", told, "", path, error.lineno, error.colno)
        raise GpuSizeError([problem]) from None
    except (RecursionError, ValueError):
        raise _error(path, "is nested too deep or holds a number too large", "") from None
    if not isinstance(data, dict):
        raise _error(path, "is not a JSON object", "give the model's config.json")
    return data


def _error(path: str, message: str, fix: str) -> GpuSizeError:
    return GpuSizeError([Problem("model", message, fix, path)])
