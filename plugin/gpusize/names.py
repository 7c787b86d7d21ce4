"""One name in two spellings: snake_case in Python, camelCase in files and Pulumi inputs."""

from __future__ import annotations


def to_camel(name: str) -> str:
    """Write `kv_cache_format` as `kvCacheFormat`; what is camelCase already stays as it is."""
    first, *rest = name.split("_")
    return first + "".join([part[:1].upper() + part[1:] for part in rest])


def to_snake(name: str) -> str:
    """Write `kvCacheFormat` as `kv_cache_format`."""
    return "".join([f"_{char.lower()}" if char.isupper() else char for char in name])


def path_to_camel(path: str) -> str:
    """Write every part of a dotted path in camelCase."""
    return ".".join([to_camel(part) for part in path.split(".")])
