"""Machines that nobody declared, judged by what they start."""

from __future__ import annotations

import base64
import datetime
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpusize.tokens import WORKLOAD_TAG
from gpusize.workload import parse_workload
from gpusize_catalog.problems import GpuSizeError
from gpusize_catalog.store import load
from gpusize_policies.case import Case
from gpusize_policies.finding import Finding
from gpusize_policies.launched import contradictions, declare, infer_all
from gpusize_policies.launched.texts import launches_in
from gpusize_policies.machines import Seen
from gpusize_policies.session import Run, Session
from gpusize_policies.settings import Settings
from tests.rules.stacks import UNKNOWN

TODAY = datetime.date(2026, 11, 30)
INSTANCE = "aws:ec2/instance:Instance"
TEMPLATE = "aws:ec2/launchTemplate:LaunchTemplate"
GROUP = "aws:autoscaling/group:Group"
CANARY = "CANARY-91c4"
LLAMA = "meta-llama/Llama-3.1-8B-Instruct"
LONG = f"#!/bin/bash\nvllm serve {LLAMA} --max-model-len 128K --api-key {CANARY}\n"
SHORT = f"#!/bin/bash\nvllm serve {LLAMA} --max-model-len 8192 --api-key {CANARY}\n"
CATALOG = load()


@pytest.fixture
def session() -> Session:
    return Session(Run(Settings(), TODAY, region="us-east-1"))


def instance(text: Any, name: str = "box", **props: Any) -> Seen:
    given = {"instanceType": "g5.xlarge", "userData": text, **props}
    return Seen(INSTANCE, name, f"urn::{name}", given)


def codes(findings: Mapping[str, Any] | tuple[Finding, ...]) -> list[str]:
    return [finding.code for finding in findings]


def inferred(text: str) -> Any:
    (found,) = infer_all(launches_in(text))
    return found


def test_a_context_that_does_not_fit_is_found_and_said_to_be_inferred(session: Session) -> None:
    (finding,) = session.judge(instance(LONG))
    assert (finding.code, finding.severity.value) == ("GPU102", "error")
    assert finding.subject.workload == "box"
    assert "workload 'box'" in finding.message
    note = (
        "(inferred from user data: model, contextLength; assumed: tp 1, pp 1, dp 1, concurrency 1)"
    )
    assert note in finding.message
    assert finding.numbers["inferred"] == "model, contextLength"
    assert finding.numbers["assumed"] == "tp 1, pp 1, dp 1, concurrency 1"
    assert CANARY not in str(finding)


def test_what_fits_passes(session: Session) -> None:
    seen = instance(SHORT)
    assert session.judge(seen) == ()
    assert list(session.finish([seen])) == []


def test_nothing_is_said_of_what_no_command_says(session: Session) -> None:
    market = {"instanceMarketOptions": {"marketType": "spot"}}
    assert session.judge(instance(SHORT, **market)) == ()


def test_machines_that_start_the_same_are_judged_once_each_by_its_name(session: Session) -> None:
    first, second = session.judge(instance(LONG)), session.judge(instance(LONG, name="other"))
    assert [one.message.replace("'box'", "'other'") for one in first] == [
        one.message for one in second
    ]
    assert len(session.asking.answers) == 1


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (f"vllm serve {CANARY}/{CANARY} --max-model-len 8192", "the model that its argument names"),
        (f"vllm serve /models/{CANARY} --max-model-len 8192", "the value of model (its argument)"),
        (f"vllm serve {LLAMA} --max-model-len {CANARY}", "contextLength (--max-model-len)"),
        (f"vllm serve --quantization {CANARY} --model {LLAMA}", "weightsFormat (--quantization)"),
        (f"ollama serve # {CANARY}", "model (not named)"),
        ("vllm serve BAAI/bge-base-en-v1.5", "the model is one of modality embedding"),
    ],
)
def test_what_cannot_be_read_is_told_by_its_option_never_by_its_text(
    session: Session, text: str, told: str
) -> None:
    (finding,) = session.judge(instance(text))
    assert finding.code == "GPU900"
    assert told in finding.message
    assert CANARY not in str(finding)


def test_user_data_that_is_not_known_yet_is_told_once(session: Session) -> None:
    seen = instance(UNKNOWN)
    assert session.judge(seen) == ()
    ((_, finding),) = session.finish([seen])
    assert (finding.code, "userData" in finding.message) == ("GPU900", True)


@pytest.mark.parametrize("kind", ["t3.xlarge", "m7i.large", "", UNKNOWN])
def test_other_types_are_none_of_ours(session: Session, kind: str) -> None:
    seen = instance(LONG, instanceType=kind)
    assert session.judge(seen) == ()
    assert list(session.finish([seen])) == []


def test_a_region_that_is_not_known_is_told() -> None:
    (finding,) = Session(Run(Settings(), TODAY)).judge(instance(LONG))
    assert (finding.code, "region" in finding.message) == ("GPU900", True)


def test_what_a_template_starts_is_told_where_it_is_launched(session: Session) -> None:
    encoded = base64.b64encode(LONG.encode()).decode()
    props = {"instanceType": "g5.xlarge", "userData": encoded}
    template = Seen(TEMPLATE, "template", "urn::template", props)
    group = Seen(
        GROUP,
        "fleet",
        "urn::fleet",
        {"launchTemplate": {"id": UNKNOWN}, "minSize": 1.0, "maxSize": 2.0},
        sources={"launchTemplate": ["urn::template"]},
    )
    assert session.judge(template) == session.judge(group) == ()
    told = [(urn, one) for urn, one in session.finish([template, group]) if one.code == "GPU102"]
    assert [(urn, one.subject.workload) for urn, one in told] == [("urn::fleet", "fleet")]
    assert [
        urn for urn, one in Session(session.run).finish([template]) if one.code == "GPU102"
    ] == ["urn::template"]


def test_several_processes_are_judged_each_and_share_the_machine(session: Session) -> None:
    both = f"{LONG}\nvllm serve Qwen/Qwen3-8B --max-model-len 4096 &\n"
    found = session.judge(instance(both, instanceType="g5.12xlarge"))
    assert "GPU307" not in codes(found)
    alone = session.judge(instance(SHORT, name="alone", instanceType="g5.12xlarge"))
    assert "GPU307" in codes(alone)


def test_a_declared_machine_is_judged_by_its_declaration(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[Case] = []
    monkeypatch.setattr("gpusize_policies.asking.evaluate", lambda case, _: seen.append(case) or ())
    component = {
        "kind": "serving",
        "model": LLAMA,
        "contextLength": 8192,
        "region": "us-east-1",
    }
    session.judge(Seen("gpusize:index:GpuWorkload", "chat", "urn::chat", component))
    machine = instance(LONG, tags={WORKLOAD_TAG: "chat"})
    session.judge(machine)
    list(session.finish([machine]))
    declared, machine_alone, machine_whole = seen
    assert declared.launched == ()
    assert machine_alone.provenance.text == ""
    for case in (machine_alone, machine_whole):
        (found,) = case.launched
        workload = case.workload
        assert workload is not None
        (difference,) = contradictions(workload, found, CATALOG)
        assert difference == ("contextLength", 8192, 131072, "--max-model-len")
    assert machine_whole.selection is not None
    assert CANARY not in str(machine_whole.selection)


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        (f"vllm serve {LLAMA} --max-model-len 4096", []),
        ("vllm serve meta-llama/Meta-Llama-3.1-8B-Instruct --max-model-len 8192", []),
        ("vllm serve Qwen/Qwen3-8B -tp 2 --quantization awq", ["model", "tp", "weightsFormat"]),
        (f"vllm serve {CANARY}/{CANARY}", []),
        (f"python -m sglang.launch_server --model-path {LLAMA}", []),
    ],
)
def test_contradictions_are_those_that_both_say(text: str, fields: list[str]) -> None:
    declared = parse_workload(
        {
            "kind": "serving",
            "model": LLAMA,
            "weightsFormat": "fp8",
            "contextLength": 8192,
            "tp": 1,
            "region": "us-east-1",
        }
    )
    found = contradictions(declared, inferred(text), CATALOG)
    assert [one.field for one in found] == fields


def test_a_gguf_copy_is_its_model_where_the_name_is_clear() -> None:
    """Owners that the catalog knows keep their name, of others the model's own is taken."""
    for owner, model in (
        ("bartowski", "bartowski/Qwen2.5-7B-Instruct-GGUF"),
        ("somebody", "Qwen/Qwen2.5-7B-Instruct"),
    ):
        text = f"llama-server -hf {owner}/Qwen2.5-7B-Instruct-GGUF:Q8_0"
        workload, _ = declare(inferred(text), CATALOG, "us-east-1")
        assert (workload.model, workload.weights_format) == (model, "gguf-q8_0")
        found = CATALOG.find_model(workload.model)
        assert found is not None and found.id == "Qwen/Qwen2.5-7B"


def test_a_draft_model_that_nobody_knows_is_left_out_and_said() -> None:
    config = '\'{"model": "yuhuili/EAGLE3-x", "num_speculative_tokens": 3}\''
    text = f"vllm serve {LLAMA} --speculative-config {config}"
    _, found = declare(inferred(text), CATALOG, "us-east-1")
    assert "no draft model" in [str(one) for one in found.assumed]


def test_a_context_that_is_not_said_is_the_engines_own() -> None:
    for text, tokens in ((f"vllm serve {LLAMA}", 131072), ("ollama run llama3.1:8b", 4096)):
        workload, _ = declare(inferred(text), CATALOG, "us-east-1")
        assert getattr(workload, "context_length", None) == tokens


@pytest.mark.parametrize("case", ["terms", "trainers"])
def test_what_is_inferred_can_be_declared(case: str) -> None:
    text = (
        "torchrun --nproc_per_node 8 dpo.py --model_name_or_path Qwen/Qwen2.5-7B --bf16 --use_peft"
        " --optim paged_adamw_8bit --gradient_checkpointing --max_length 2048"
        if case == "trainers"
        else f"vllm serve {LLAMA} -tp 2 -dp 2 --enforce-eager --kv-cache-dtype fp8 --max-num-seqs 8"
        " --enable-lora --cpu-offload-gb 2 --dtype bfloat16 --quantization awq"
    )
    workload, _ = declare(inferred(text), CATALOG, "us-east-1")
    assert workload.region == "us-east-1"


def test_a_field_that_no_declaration_takes_is_named_alone() -> None:
    found = inferred(f"vllm serve {LLAMA}")
    broken = found._replace(declaration={**found.declaration, "tp": CANARY})
    with pytest.raises(GpuSizeError) as error:
        declare(broken, CATALOG, "us-east-1")
    assert "tp" in str(error.value)
    assert CANARY not in str(error.value)


@pytest.mark.parametrize(
    ("text", "codes_of"),
    [
        ("-tp 8 -pp 2 --max-model-len 8192", ["GPU900"]),
        ("-tp 16 --distributed-executor-backend ray --max-model-len 8192", ["GPU900"]),
        ("-tp 16 --max-model-len 8192", ["GPU100"]),
        ("-tp 8 -pp 2 --nnodes 2 --max-model-len 8192", []),
    ],
)
def test_ranks_on_machines_that_are_not_counted_are_no_mistake(
    session: Session, text: str, codes_of: list[str]
) -> None:
    seen = instance(
        f"vllm serve meta-llama/Llama-3.1-405B-Instruct --quantization fp8 {text}",
        instanceType="p5.48xlarge",
    )
    assert set(codes_of) <= set(codes(session.judge(seen)))
    if not codes_of or codes_of == ["GPU900"]:
        assert "GPU100" not in codes(session.judge(seen))


def test_what_rests_on_load_is_said_where_the_load_is() -> None:
    from gpusize_policies.inferred import ON_LOAD, ON_RANKS, founded

    alone = inferred(f"vllm serve {LLAMA} -tp 2 -pp 2")
    loaded = inferred("ollama run llama3.1:8b\nexport OLLAMA_NUM_PARALLEL=4")
    assert not founded(alone, alone=True) & ON_LOAD
    assert founded(loaded, alone=True) >= ON_LOAD
    assert founded(alone, alone=True) >= ON_RANKS
    assert not founded(alone, alone=False) & ON_RANKS
    assert not founded(loaded, alone=True) & ON_RANKS


LINES = st.lists(
    st.sampled_from(
        [
            f"export TOKEN={CANARY}",
            f"echo {CANARY} > /tmp/x",
            f"--api-key {CANARY}",
            f"--max-model-len {CANARY}",
            f"--quantization={CANARY}",
            f"--served-model-name {CANARY}",
            f"MODEL={CANARY}/{CANARY}",
            f"vllm serve {CANARY}/{CANARY}",
            f"vllm serve {LLAMA} --max-model-len 131072 \\",
            "vllm serve $MODEL \\",
            f"docker run -e A={CANARY} vllm/vllm-openai:{CANARY} --model {LLAMA} \\",
            f"torchrun sft.py --model_name_or_path {CANARY}",
            f"ollama run {CANARY.lower()}:8b",
            f"llama-server -hf {CANARY}/{CANARY}:Q4_K_M",
        ]
    ),
    max_size=5,
)


@settings(max_examples=60)
@given(LINES)
def test_no_text_of_a_machine_shows_a_secret(lines: list[str]) -> None:
    seen = instance("#!/bin/bash\n" + "\n".join(lines))
    one = Session(Run(Settings(), TODAY, region="us-east-1"))
    said = [*one.judge(seen), *(finding for _, finding in one.finish([seen]))]
    assert CANARY.lower() not in str(said).lower()
