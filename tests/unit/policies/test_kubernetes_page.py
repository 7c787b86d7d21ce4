"""The examples of docs/kubernetes.md do what the page says."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import yaml

from tests.unit.policies.kubernetes import codes, told

PAGE = Path(__file__).parents[3] / "docs" / "kubernetes.md"


def examples() -> list[dict[str, Any]]:
    blocks = re.findall(r"```yaml\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    return [yaml.safe_load(block) for block in blocks]


def stack(example: dict[str, Any]) -> dict[str, tuple[str, dict[str, Any]]]:
    return {name: (one["type"], one["properties"]) for name, one in example["resources"].items()}


def test_the_pool_of_the_page_is_too_loose(tmp_path: Path) -> None:
    program, _ = examples()
    (found,) = told(tmp_path, **stack(program))
    shown = re.sub(r"\s+", " ", PAGE.read_text(encoding="utf-8"))
    assert found.message.partition(" Fix:")[0] in shown


def test_the_sidecar_of_the_page_ties_and_places(tmp_path: Path) -> None:
    program, sidecar = examples()
    resources = stack(program)
    del resources["gpus"]
    assert told(tmp_path, sidecar, **resources) == []
    sidecar["machines"]["gpu-nodes"]["instanceTypes"] = ["g4dn.xlarge"]
    assert "GPU101" in codes(told(tmp_path, sidecar, **resources))
