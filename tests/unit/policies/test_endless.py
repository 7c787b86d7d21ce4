"""Numbers and texts of any size: told or left unread, never waited for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gpusize.settings_entries import LARGEST
from gpusize_policies.launched.script import read_script
from gpusize_policies.reading.launches import container
from gpusize_policies.settings_file import parse

ENDLESS = (float("nan"), float("inf"), 10**400, 1e308, -1)
SERVE = "vllm serve meta-llama/Llama-3.1-8B-Instruct"


@pytest.mark.parametrize("number", ENDLESS)
@pytest.mark.parametrize(
    "path",
    [
        ("quotas", "default"),
        ("parameters", "maxNodes"),
        ("parameters", "maxLoadSeconds"),
        ("team", "minHeadroomGib"),
        ("team", "maxHourly"),
        ("team", "maxGpus"),
    ],
)
def test_a_number_that_is_no_amount_is_told(path: tuple[str, str], number: Any) -> None:
    block, key = path
    _, problems = parse({block: {key: number}}, Path())
    assert [problem.path for problem in problems] == [f"{block}.{key}"]


def test_the_largest_amount_is_taken() -> None:
    settings, problems = parse({"team": {"maxMonthly": LARGEST}}, Path())
    assert (settings.team.max_monthly, problems) == (LARGEST, ())


def test_containers_inside_containers_end() -> None:
    assert list(read_script("docker exec box " * 1000 + SERVE)) == []
    (launch,) = read_script("docker exec box " * 2 + SERVE)
    assert launch.argv[0] == "vllm"


def test_whatever_stands_before_a_command_is_taken_off() -> None:
    (launch,) = read_script("A=b sudo -u me env B=c timeout -k 5 60 " + "nohup " * 500 + SERVE)
    assert (launch.argv[:2], dict(launch.env)) == (("vllm", "serve"), {"A": "b", "B": "c"})


def test_variables_of_a_container_stand_for_so_much() -> None:
    image = "vllm/vllm-openai:v0.11.0"
    env = [{"name": "WORD", "value": "w" * 10_000}]
    words = ["--model", "meta-llama/Llama-3.1-8B-Instruct", "$(WORD)" * 10_000]
    found = container({"image": image, "command": words, "env": env})
    (launch,) = found.value
    assert len(launch.argv[2]) <= 2**20 + 10_000
