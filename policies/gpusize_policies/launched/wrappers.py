"""Takes off what stands around a command: sudo, env, nohup, a shell's `-c`, `docker run`."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator, Mapping

from gpusize_policies.launched.launch import FURTHER, USER_DATA, Launch

DEEPEST = 4
"""Shells and containers inside one another that are opened."""

_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)=(.*)", re.DOTALL)
_SHELL_COMMAND = re.compile(r"-[a-z]*c")
_DETACHED = re.compile(r"-[ditPq]+")

SHELLS = frozenset({"sh", "bash", "dash", "ash", "zsh", "su", "runuser"})
"""Commands whose `-c` is a script."""

PREFIXES: Mapping[str, tuple[frozenset[str], int]] = {
    "sudo": (frozenset({"-u", "-g", "-h", "-p", "-C", "-T", "-r", "-t", "-D", "-R"}), 0),
    "nohup": (frozenset(), 0),
    "exec": (frozenset({"-a"}), 0),
    "env": (frozenset({"-u", "-C"}), 0),
    "time": (frozenset({"-f", "-o"}), 0),
    "timeout": (frozenset({"-k", "-s"}), 1),
    "nice": (frozenset({"-n"}), 0),
    "ionice": (frozenset({"-c", "-n", "-p"}), 0),
    "setsid": (frozenset(), 0),
    "stdbuf": (frozenset({"-i", "-o", "-e"}), 0),
    "numactl": (frozenset({"-N", "-m", "-C", "-i", "-p"}), 0),
    "taskset": (frozenset(), 1),
    "screen": (frozenset({"-S", "-dmS", "-t", "-c"}), 0),
    "gosu": (frozenset(), 1),
    "tini": (frozenset({"-p", "-e"}), 0),
    "dumb-init": (frozenset(), 0),
    "then": (frozenset(), 0),
    "else": (frozenset(), 0),
    "do": (frozenset(), 0),
    "if": (frozenset(), 0),
    "while": (frozenset(), 0),
    "until": (frozenset(), 0),
    "!": (frozenset(), 0),
    "{": (frozenset(), 0),
}
"""What may stand before a command: its options that take a value, and its own words before it.

From the manuals of sudo, GNU coreutils, util-linux, numactl, GNU screen, gosu and tini, and the
reserved words of POSIX sh.
"""

RUNNERS = frozenset({"uv", "poetry", "pipenv", "conda", "mamba", "micromamba"})
"""Tools whose `run` starts a command in an environment."""
RUNNER_VALUES = frozenset({"-n", "--name", "-p", "--prefix", "--with", "--python", "--extra"})

CONTAINER_TOOLS = frozenset({"docker", "podman", "nerdctl"})
DOCKER_SWITCHES = frozenset(
    {
        "--detach",
        "--init",
        "--interactive",
        "--no-healthcheck",
        "--oom-kill-disable",
        "--privileged",
        "--publish-all",
        "--quiet",
        "--read-only",
        "--rm",
        "--sig-proxy",
        "--tty",
        "--disable-content-trust",
        "--replace",
    }
)
"""Options of `docker run` without a value, all others have one (docker/cli,
docs/reference/commandline/container_run.md; `--replace` is podman's)."""

Script = Callable[[str, Mapping[str, str], str, int], Iterator[Launch]]
"""Reads a script: its text, what is in its environment, the image it runs in, how deep it lies."""


def launches_of(
    words: list[str],
    env: Mapping[str, str],
    image: str,
    script: Script,
    depth: int = 0,
    origin: str = USER_DATA,
) -> Iterator[Launch]:
    """Yield what a command starts, once all that stands around it is taken off."""
    words, own = _bare(words, dict(env))
    if depth > DEEPEST:
        return
    if not words:
        if image:
            yield Launch((), own, image, origin)
        return
    head = base(words[0])
    if head in SHELLS:
        pairs = itertools.pairwise(words)
        text = next((after for word, after in pairs if _SHELL_COMMAND.fullmatch(word)), "")
        if text and depth < DEEPEST:
            yield from script(text, own, image, depth + 1)
    elif head in CONTAINER_TOOLS:
        yield from _contained(words, own, script, depth, origin)
    else:
        yield Launch(tuple(words), own, image, origin)


def _bare(words: list[str], env: dict[str, str]) -> tuple[list[str], dict[str, str]]:
    """Take off assignments and what stands before the command."""
    at = 0
    while at < len(words):
        assigned = _ASSIGNMENT.fullmatch(words[at])
        head = base(words[at])
        if assigned is not None:
            env[assigned.group(1)] = assigned.group(2)
            at += 1
        elif head in PREFIXES:
            values, own = PREFIXES[head]
            at = _past(words, at + 1, values) + own
        elif head in RUNNERS and words[at + 1 : at + 2] == ["run"]:
            at = _past(words, at + 2, RUNNER_VALUES)
        else:
            break
    return words[at:], env


def _past(words: list[str], at: int, values: frozenset[str]) -> int:
    """Return where options from a place on end; `values` are those that take the next word."""
    while at < len(words) and words[at].startswith("-") and words[at] != "-":
        if words[at] == "--":
            return at + 1
        at += 2 if words[at] in values else 1
    return at


def _contained(
    words: list[str], env: Mapping[str, str], script: Script, depth: int, origin: str
) -> Iterator[Launch]:
    """Yield what `docker run` starts in its image, and what `docker exec` starts."""
    rest = words[2:] if words[1:2] == ["container"] else words[1:]
    if rest[:1] not in (["run"], ["create"], ["exec"]):
        return
    inner: dict[str, str] = {}
    entry: list[str] = []
    rest, tool = rest[1:], rest[0]
    while rest and rest[0].startswith("-"):
        name, value, rest = _option(rest)
        if name in ("-e", "--env"):
            key, equals, text = value.partition("=")
            if equals or key in env:
                inner[key] = text if equals else env[key]
        elif name == "--env-file":
            inner[FURTHER] = ""
        elif name == "--entrypoint":
            entry = [value] if value else []
    if not rest:
        return
    image = rest[0] if tool != "exec" else ""
    yield from launches_of([*entry, *rest[1:]], inner, image, script, depth + 1, origin)


def _option(words: list[str]) -> tuple[str, str, list[str]]:
    """Read one option of a container tool: its name, its value, the words after it."""
    first = words[0]
    name, equals, value = first.partition("=")
    if equals and first.startswith("--"):
        return name, value, words[1:]
    if first in DOCKER_SWITCHES or _DETACHED.fullmatch(first):
        return first, "", words[1:]
    if len(first) > len("-e") and first.startswith("-e") and not first.startswith("--"):
        return "-e", first[len("-e") :], words[1:]
    return first, words[1] if len(words) > 1 else "", words[2:]


def base(word: str) -> str:
    """Return the name of a command without its folder."""
    return word.rpartition("/")[2] or word
