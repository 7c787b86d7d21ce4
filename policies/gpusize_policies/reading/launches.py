"""From properties to the processes that a resource starts: user data and containers.

Each function gives a `Value` of a tuple of `Launch`, absent where nothing known is started. Only
what may start a known engine is parsed; of an environment only the names that an engine reads are
kept.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any

from gpusize_policies.launched.launch import CONTAINER, FURTHER, PARAMETERS, Launch, may_launch
from gpusize_policies.reading.values import ABSENT, SENTINELS, UNKNOWN, Props, Value, first

MAX_JSON = 2**20
"""Characters of a JSON text, and of what the variables in a container's words stand for: a task or
job definition has at most 64 KiB (Amazon ECS quotas)."""
DEEPEST = 8
"""Mappings and lists around a container in such a text."""
MOST_CONTAINERS = 64
"""Containers of one resource that are read."""

_REFERENCE = re.compile(r"\$\(([A-Za-z_]\w*)\)")
_WORDS = ("entryPoint", "entrypoint", "command", "commands", "args")
"""Where a container says its words: Amazon ECS and AWS Batch, Kubernetes, pods of Batch."""
_ENVIRONMENTS = ("environment", "env", "envs")


def user_data(props: Props, plain: str = "userData", encoded: str = "userDataBase64") -> Value:
    """Read what user data starts; '' for a key that the type does not have."""
    texts = [props.own(key) for key in (plain, encoded) if key]
    found = first(*texts)
    if not found.says:
        return found if found == ABSENT else UNKNOWN
    return _some(_launches(found.text)) if found.text else ABSENT


def template_user_data(props: Props) -> Value:
    """Read what the user data of a launch template starts: it is always base64."""
    return user_data(props, plain="", encoded="userData")


def container(value: Any) -> Value:
    """Read what a container starts: a mapping of image, command, args and environment.

    Takes the shapes of Kubernetes (`command`, `args`, `env`), of Amazon ECS and AWS Batch
    (`entryPoint`, `command`, `environment`) and of SageMaker (`image`, `environment` as a mapping).
    """
    props = Props(value)
    env, is_whole = _environment(props)
    image = props.get("image")
    words: list[str] = []
    for key in _WORDS:
        said, known = _said(props, key)
        words += said
        is_whole = is_whole and known
    if not is_whole or not image.known:
        # What is not known may be an option of what is: half a command is no declaration.
        return UNKNOWN if _is_known(words, env, image.text) else ABSENT
    return _some(_contained(words, env, image.text))


def containers(values: Iterable[Any]) -> Value:
    """Read what several containers start, together."""
    found: list[Launch] = []
    for value in list(values)[:MOST_CONTAINERS]:
        one = container(value)
        if not one.known:
            return UNKNOWN
        found += one.value or ()
    return _some(found)


def json_containers(text: Value) -> Value:
    """Read what the containers of a JSON text start, wherever they lie in it.

    For `containerProperties`, `nodeProperties`, `ecsProperties` and `eksProperties` of AWS Batch
    and `containerDefinitions` of Amazon ECS.
    """
    if not text.says or not text.text:
        return text if not text.known else ABSENT
    if len(text.text) > MAX_JSON or not may_start(text.text):
        return ABSENT
    import json

    try:
        data = json.loads(text.text)
    except (ValueError, RecursionError):
        return ABSENT
    return containers(_with_images(data, 0))


PROGRAM = "sagemaker_program"
DISTRIBUTED = "sagemaker_torch_distributed_enabled"
"""Hyperparameters that name the script, and have torchrun start it (aws/sagemaker-training-toolkit,
params.py and torch_distributed.py)."""
PLATFORM = "sagemaker_"
"""Begin of the names that the platform keeps for itself."""
UNSAID = sorted(SENTINELS)[0]


def training(job: Props, instances: Value) -> Value:
    """Read what a training job of SageMaker starts: its container's words, else its script.

    The training toolkit hands hyperparameters to a script as options (mapping.py, to_cmd_args).
    """
    algorithm = "algorithmSpecification"
    parameters = first(*(job.get(key) for key in ("hyperParameters", "staticHyperParameters")))
    begin, is_whole = job.items(f"{algorithm}.containerEntrypoints")
    rest, is_rest_whole = job.items(f"{algorithm}.containerArguments")
    if not is_whole or not is_rest_whole:
        return UNKNOWN
    if not begin and not rest:
        return _script_of(parameters, instances)
    env = job.get("environment")
    words = [one.text for one in (*begin, *rest)]
    return container({"command": words, "environment": env.value if env.known else UNSAID})


def _script_of(parameters: Value, instances: Value) -> Value:
    if not isinstance(parameters.value, Mapping):
        return parameters if not parameters.known else ABSENT
    reader = Props(parameters.value)
    named = {str(key): reader.own(key) for key in parameters.value}
    program = named.get(PROGRAM, ABSENT)
    if not program.says:
        return program
    options = {key: one for key, one in named.items() if not key.startswith(PLATFORM)}
    if not all(one.known for key, one in options.items() if _option(key) in _trainer_options()):
        return UNKNOWN
    words = ["torchrun"]
    if _plain(named.get(DISTRIBUTED, ABSENT)).lower() == "true" and instances != Value(1):
        words += ["--nnodes", str(instances.value)]
    words.append(_plain(program))
    for key, one in options.items():
        words += [_option(key), _plain(one)]
    return _some(_kept([Launch(tuple(words), {}, "", PARAMETERS)]))


def _plain(value: Value) -> str:
    """Decode a hyperparameter: the SDK writes each as JSON."""
    import json

    try:
        return str(json.loads(value.text))
    except (ValueError, RecursionError):
        return value.text


def _option(name: str) -> str:
    return "--" + name.replace("_", "-")


@lru_cache(maxsize=1)
def _trainer_options() -> frozenset[str]:
    """Options of a training script that are read."""
    from gpusize_policies.launched.engines.training import FLAGS

    return frozenset(name for flag in FLAGS for name in flag.names)


def may_start(text: str) -> bool:
    """Tell whether a text may start something known, by a command or an environment."""
    return may_launch(text) or any(name in text for name in _telling())


@lru_cache(maxsize=1024)
def _launches(text: str) -> tuple[Launch, ...]:
    """Read each text once: many machines of a stack start the same."""
    from gpusize_policies.launched.texts import launches_in

    return tuple(_kept(launches_in(text)))


def _contained(words: list[str], env: Mapping[str, str], image: str) -> Iterator[Launch]:
    from gpusize_policies.launched.script import read_script
    from gpusize_policies.launched.words import UNREAD
    from gpusize_policies.launched.wrappers import launches_of

    room = MAX_JSON

    def referred(match: re.Match[str]) -> str:
        nonlocal room
        value = env.get(match.group(1), UNREAD)
        room -= len(value)
        return value if room >= 0 else UNREAD

    words = [_REFERENCE.sub(referred, word) for word in words]
    if not _is_known(words, env, image):
        return

    def script(text: str, inner: Mapping[str, str], image: str, depth: int) -> Iterator[Launch]:
        return read_script(text, inner, image, depth, CONTAINER)

    yield from _kept(launches_of(words, env, image, script, origin=CONTAINER))


def _is_known(words: Iterable[str], env: Mapping[str, str], image: str) -> bool:
    return any(name in _telling() for name in env) or may_launch(" ".join((image, *words)))


def _kept(launches: Iterable[Launch]) -> Iterator[Launch]:
    """Keep what is known, and of its environment what an engine reads."""
    from gpusize_policies.launched.inferring import is_known

    for launch in launches:
        kept = {name: value for name, value in launch.env.items() if name in _read_names()}
        one = launch._replace(env=kept)
        if is_known(one):
            yield one


@lru_cache(maxsize=1)
def _read_names() -> frozenset[str]:
    """Names of an environment that some engine reads."""
    from gpusize_policies.launched.engines import environment_names

    return environment_names()


@lru_cache(maxsize=1)
def _telling() -> frozenset[str]:
    """Names of an environment that tell by themselves what is started."""
    from gpusize_policies.launched.engines import telling_names

    return telling_names()


def _said(props: Props, key: str) -> tuple[list[str], bool]:
    """Read words: a list of them, or one text that is a line of shell."""
    found = props.own(key)
    if not found.known:
        return [], False
    if isinstance(found.value, str):
        from gpusize_policies.launched.words import commands

        return [word for words in commands(found.value, {})[:1] for word in words], True
    items, is_whole = props.items(key)
    return [item.text for item in items if item.text], is_whole


def _environment(props: Props) -> tuple[dict[str, str], bool]:
    """Read the environment, and whether all of it is known."""
    env: dict[str, str] = {}
    is_whole = True
    for key in _ENVIRONMENTS:
        found = props.own(key)
        if isinstance(found.value, Mapping):
            reader = Props(found.value)
            pairs = [(Value(name), reader.own(name)) for name in found.value]
        else:
            items, complete = props.items(key)
            readers = [Props(item.value) for item in items if item.known]
            pairs = [(reader.own("name"), reader.own("value")) for reader in readers]
            is_whole = is_whole and complete
        for name, value in pairs:
            if name.text and value.text:
                env[name.text] = value.text
            # What is not known yet of a name that no engine reads, a token say, changes nothing.
            is_whole = is_whole and (value.known or name.text not in _read_names())
    if props.own("envFrom") != ABSENT or props.own("environmentFiles") != ABSENT:
        env[FURTHER] = ""
    return env, is_whole


def _with_images(data: Any, depth: int) -> Iterator[Any]:
    """Yield the mappings of a JSON text that name an image."""
    if depth > DEEPEST:
        return
    if isinstance(data, dict):
        if "image" in data:
            yield data
            return
        data = list(data.values())
    for one in data if isinstance(data, list) else ():
        yield from _with_images(one, depth + 1)


def _some(launches: Iterable[Launch]) -> Value:
    found = tuple(dict.fromkeys(launches))
    return Value(found) if found else ABSENT
