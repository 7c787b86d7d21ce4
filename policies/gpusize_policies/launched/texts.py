"""User data as it lies in a property: plain, base64, gzip, several parts, cloud-init, a script."""

from __future__ import annotations

import base64
import binascii
import re
import zlib
from collections.abc import Iterator, Mapping
from typing import Any

from gpusize_policies.launched.launch import Launch, may_launch
from gpusize_policies.launched.script import read_script

MAX_BYTES = 256 * 2**10
"""Bytes of a text that are read once it is unpacked: EC2 takes 16 KiB packed (EC2 user guide, "Run
commands when you launch an EC2 instance with user data input")."""
MAX_PARTS = 32
"""Parts of a text that are read."""
GZIP = b"\x1f\x8b"
_GZIP_WINDOW = 31
"""zlib's window bits for data with a gzip header."""

_BASE64 = re.compile(r"[A-Za-z0-9+/\s]{16,}={0,2}")
_BOUNDARY = re.compile(r"""multipart/[^"]{0,200}?boundary="?([^"\s;]+)""", re.IGNORECASE)
_LONGEST_HEAD = 1024
"""Characters of the headers of a text in several parts."""
_CLOUD_CONFIG = "#cloud-config"


def launches_in(text: str) -> tuple[Launch, ...]:
    """Return what user data starts; whatever is wrong with the text starts nothing."""
    whole = unpacked(text)
    if not may_launch(whole):
        return ()
    return tuple(dict.fromkeys(_read(whole)))


def unpacked(text: str) -> str:
    """Return the text behind base64 and gzip, cut at the limit; a plain text as it is."""
    if text.startswith("#") or not _BASE64.fullmatch(text[: 2 * MAX_BYTES].strip()):
        return text[:MAX_BYTES]
    found = _plain(decoded(text))
    return text[:MAX_BYTES] if found is None else found


def decoded(text: str) -> bytes:
    """Decode base64, nothing where it is none."""
    try:
        return base64.b64decode(text[: 2 * MAX_BYTES], validate=False)
    except (binascii.Error, ValueError):
        return b""


def _plain(content: bytes) -> str | None:
    """Return bytes as text, unzipped up to the limit; None where they are none."""
    if content.startswith(GZIP):
        try:
            content = zlib.decompressobj(_GZIP_WINDOW).decompress(content, MAX_BYTES)
        except zlib.error:
            return None
    text = content[:MAX_BYTES].decode("utf-8", errors="replace")
    return text if text and "\0" not in text else None


def _read(text: str) -> Iterator[Launch]:
    boundary = _BOUNDARY.search(text[:_LONGEST_HEAD])
    if boundary is not None:
        for part in _parts(text, boundary.group(1)):
            yield from _read_part(part)
    else:
        yield from _read_part(text)


def _parts(text: str, boundary: str) -> Iterator[str]:
    """Yield the bodies of a text in several parts (MIME, RFC 2046)."""
    for part in text.replace("\r\n", "\n").split(f"--{boundary}")[1 : MAX_PARTS + 1]:
        head, _, body = part.partition("\n\n")
        if "base64" in head.lower():
            yield _plain(decoded(body)) or ""
        else:
            yield body


def _read_part(text: str) -> Iterator[Launch]:
    start = text.lstrip()
    if start.startswith(_CLOUD_CONFIG):
        yield from _cloud_config(start)
    else:
        yield from read_script(text)


def _cloud_config(text: str) -> Iterator[Launch]:
    """Yield what cloud-init runs: the commands and the files of a configuration together.

    Keys: cloud-init's modules bootcmd, runcmd and write_files.
    """
    data = _yaml(text)
    scripts: list[str] = []
    for key, text_of in (("write_files", _file), ("bootcmd", _line), ("runcmd", _line)):
        entries = data.get(key)
        scripts += map(text_of, entries if isinstance(entries, list) else ())
    yield from read_script("\n".join(scripts)[:MAX_BYTES])


def _yaml(text: str) -> Mapping[str, Any]:
    from gpusize.documents import parse
    from gpusize_catalog.problems import GpuSizeError

    try:
        data = parse(text, "user-data.yaml").data
    except GpuSizeError:
        return {}
    return data if isinstance(data, Mapping) else {}


def _line(entry: object) -> str:
    """Return a command of cloud-init as a line of shell: a text is one, a list is its words."""
    if not isinstance(entry, list):
        return entry if isinstance(entry, str) else ""
    import shlex

    return " ".join(shlex.quote(str(word)) for word in entry)


def _file(entry: object) -> str:
    """Return what a file of cloud-init holds."""
    if not isinstance(entry, Mapping) or not isinstance(entry.get("content"), str):
        return ""
    content: str = entry["content"]
    encoding = str(entry.get("encoding", "")).lower()
    if encoding in ("b64", "base64") or encoding.startswith("gz"):
        return _plain(decoded(content)) or ""
    return content
