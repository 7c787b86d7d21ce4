"""Types that stand in for the chosen one."""

from __future__ import annotations

import datetime

import pytest

from gpusize.resolve import resolve
from gpusize.resolving.substitutes import DEAREST
from gpusize.workload import parse_workload
from gpusize_catalog.store import load

TODAY = datetime.date(2026, 11, 30)
CHAT = {
    "kind": "serving",
    "model": "meta-llama/Llama-3.1-8B-Instruct",
    "weightsFormat": "fp8",
    "engine": "vllm@0.20",
    "contextLength": 8192,
    "concurrency": 8,
    "region": "us-east-1",
}
BATCH = {**CHAT, "kind": "batch-inference", "runHours": 4, "market": "spot"}
LARGE = {**CHAT, "model": "meta-llama/Llama-3.1-70B-Instruct", "weightsFormat": "fp16"}


def resolved(declared):
    return resolve(parse_workload(declared), load(), today=TODAY)


@pytest.mark.parametrize("declared", [CHAT, BATCH, LARGE], ids=["chat", "batch", "large"])
def test_a_substitute_is_a_plan_of_its_own_with_the_same_layout_and_market(declared):
    found = resolved(declared)
    plan = found.plan
    prices = []
    for name in found.substitutes:
        sizes = {key: value for key, value in plan.layout.data().items() if key != "ep"}
        pins = {"instanceType": name, "market": plan.market.value, **sizes}
        other = resolved({**declared, **pins}).plan
        assert other is not None, name
        assert (other.layout, other.nodes, other.market) == (plan.layout, 1, plan.market)
        prices.append(other.cost.hourly)
    assert prices == sorted(prices)
    assert all(price <= DEAREST * plan.cost.hourly for price in prices)
    assert plan.instance_type not in found.substitutes


def test_there_are_some():
    assert resolved(CHAT).substitutes
    assert resolved(BATCH).substitutes


def test_a_pinned_type_has_none():
    assert resolved({**CHAT, "instanceType": "g6.xlarge"}).substitutes == ()


def test_no_plan_has_none():
    assert resolved({**CHAT, "budget": {"perHour": 0.01}}).substitutes == ()
