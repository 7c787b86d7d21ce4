"""The page on what is read of texts: prose by hand, tables from `gpusize_policies.launched`."""

from __future__ import annotations

from collections.abc import Iterable

from gpusize.tokens import WORKLOAD_TAG
from gpusize_policies.inferred import FOUNDED, FOUNDED_TOPICS
from gpusize_policies.launched.engines import COMMANDS, IMAGES, MODULES, TABLES
from gpusize_policies.launched.flags import Flag, Table

PROSE = """\
# What is read of what a machine starts

A machine with GPUs needs no declaration to be judged where its own texts say what runs on it: a
user data script that starts `vllm serve`, a container whose arguments are those of
`text-generation-launcher`. From these the policy pack infers a declaration, term by term.

- **Declared wins.** A machine that points at a declaration by the tag `{tag}` is judged
  by it.
- **Said is shown.** Every finding on an inferred declaration ends in
  `(inferred from user data: model, contextLength; assumed: tp 1, concurrency 1)`: what a text says,
  and what no text says and the engine's default or the least is taken for. The same stands in its
  numbers, as `inferred` and `assumed`.
- **Nothing is guessed.** A model that the catalog does not know, an option whose value cannot be
  read, a variable that is not constant: then GPU900 cannot-evaluate names the option, and the way
  out is a declaration.
- **Nothing else is shown.** Such texts hold tokens and passwords in clear. Only terms that were
  understood, numbers and words of fixed lists and models of the catalog, appear anywhere; the text
  of an option that was not understood never does. Nothing is run.
- **Few rules speak.** Those on {topics},
  and {names}:
  how long the work runs, who waits for it and where weights lie is said in no command.

## Where it is read

| text | how |
|---|---|
{places}

At most 256 KiB of a text are read once it is unpacked.

What a container of a managed service starts is judged on the machines that run it:

| what starts it | where it runs |
|---|---|
{runs}

- **A container has the GPUs that it asks for.** An engine that takes all it sees (TGI, LMI with
  `max`) is taken to have as many ranks; one with more ranks than that is GPU314
  container-gpus-too-few. GPUs of a pool that a task leaves over are for other tasks: GPU307
  idle-gpus-on-node speaks where a task asks for all of them, and of endpoints and training jobs.
- **No machine, one answer.** A task that asks for GPUs, or a model of SageMaker, of which the stack
  does not say where it runs is told once, as GPU900, with what is missing. A task that asks for no
  GPU may need none.
- **A pool with a declaration runs that.** Tasks without one are then not judged beside it.
- **A text that is not known yet** is often one of a whole platform: user data made of the outputs
  of a cluster, images of a repository that is about to be made. One finding of GPU900 in a run
  names the resources and properties; with `unknowns: error` it stops the preview. One for each
  machine would say the same thing as often as there are groups, on each first preview, and be
  switched off with all that GPU900 has to say otherwise. With `requireDeclaration` such a text
  declares nothing, so GPU901 speaks on each machine.
- **Nodes of EKS** join a cluster by their user data: what runs on them are pods, so user data of a
  node group is not read.
- **EMR** starts its frameworks by steps and by scripts in S3, in words of its own; nothing is
  inferred of them.

## How an engine is recognized

| engine | command | module (`python -m`) | image that ends in |
|---|---|---|---|
{engines}

SageMaker's model servers are recognized by `HF_MODEL_ID` or `OPTION_MODEL_ID` in the environment of
a container too.

Each table has an engine's options, the variables of the environment that say the same, and the
[field of a declaration](component.md) that they set. Long options may be spelled with underscores,
and take their value after `=` or as the next word. What is not in a table is passed over.
"""

PLACES = (
    (
        "`userData`, `userDataBase64` of instances, spot requests and launch templates",
        "plain, base64, gzip, several parts (MIME), `#cloud-config` (`runcmd`, `bootcmd`, "
        "`write_files`), shell",
    ),
    (
        "shell",
        "continued lines, quotes, `$NAME` and `${NAME:-default}` of variables assigned once, "
        '`sh -c "…"`, `sudo`, `env`, `exec`, `nohup`, `&`, here-documents, `ExecStart=` and '
        "`Environment=` of systemd units",
    ),
    (
        "`docker run`, `podman run`, `docker exec`",
        "the image with its tag, `-e`, `--entrypoint`, the arguments",
    ),
    (
        "containers of ECS (`containerDefinitions`), Batch (`containerProperties`, "
        "`nodeProperties`, `ecsProperties`, `eksProperties`) and SageMaker (`primaryContainer`, "
        "`containers`, `algorithmSpecification`)",
        "image, entry point, command, arguments, environment; `$(NAME)` of the environment",
    ),
    (
        "`hyperParameters`, `staticHyperParameters` of SageMaker with a `sagemaker_program`",
        "options of the script that the training toolkit starts, by torchrun where "
        "`sagemaker_torch_distributed_enabled` says so (aws/sagemaker-training-toolkit)",
    ),
    ("`pip install vllm==0.11.0`", "the engine's version, where no image says it"),
)
"""Texts that are read, and what is understood of them."""

RUNS = (
    (
        "service of ECS",
        "its capacity provider, down to the launch template of the group; of a service or a task "
        "without one, the only capacity provider with GPUs of the stack",
    ),
    (
        "job definition of Batch",
        "the instance types of its nodes, else the only compute environment with GPUs of the stack",
    ),
    ("model of SageMaker", "the variants of the endpoint configuration that rests on it"),
    ("training and tuning jobs of SageMaker", "their own instances"),
)
"""What starts processes on machines that are not its own, and which those are."""


def inference_page(generated: str) -> str:
    """Return the page."""
    head, rest = PROSE.split("\n", 1)
    names = sorted(FOUNDED)
    text = rest.format(
        tag=WORKLOAD_TAG,
        topics=", ".join(sorted(FOUNDED_TOPICS)),
        names=" and ".join(f"`{name}`" for name in names),
        places="\n".join(f"| {text} | {how} |" for text, how in PLACES),
        runs="\n".join(f"| {text} | {where} |" for text, where in RUNS),
        engines="\n".join(_engine(table) for table in TABLES),
    )
    sections = [_section(table) for table in _distinct()]
    return "\n\n".join([head, generated, text.strip(), *sections]) + "\n"


def _distinct() -> list[Table]:
    """Tables whose options are listed: those of trainers are the same."""
    seen: list[tuple[Flag, ...]] = []
    found = []
    for table in TABLES:
        if table.flags not in seen:
            seen.append(table.flags)
            found.append(table)
    return found


def _engine(table: Table) -> str:
    cells = [
        _listed(" ".join(words) for words, one in COMMANDS.items() if one is table),
        _listed(name for name, one in MODULES.items() if one is table),
        _listed(name for name, (one, _) in IMAGES.items() if one is table),
    ]
    return f"| {table.name} | {' | '.join(cells)} |"


def _section(table: Table) -> str:
    same = [one.name for one in TABLES if one.flags == table.flags]
    rows = [
        f"| {_options(table, flag)} | {_listed(flag.env)} | {_field(table, flag)} |"
        for flag in table.flags
    ]
    assumed = "\n".join(f"- `{one}`: {one.reason}" for one in table.assumed)
    return "\n\n".join(
        [
            f"## {', '.join(same)}",
            "| option | variable | field |\n|---|---|---|\n" + "\n".join(rows),
            f"Assumed where nothing says it:\n\n{assumed}",
            f"Sources: {'; '.join(one.sources for one in TABLES if one.flags == table.flags)}.",
        ]
    )


def _options(table: Table, flag: Flag) -> str:
    first = [f"first argument of `{table.name}`"] if flag.field == table.positional else []
    return ", ".join([*first, *(f"`{name}`" for name in flag.names)])


def _field(table: Table, flag: Flag) -> str:
    return flag.note or f"`{table.means.get(flag.field, flag.field)}`"


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)
