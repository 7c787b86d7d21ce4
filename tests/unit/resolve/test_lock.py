from __future__ import annotations

import datetime
import json
from pathlib import Path
from typing import Any

import pytest

from gpusize.lock import Entry, digest_of, drift, entry_of, parse, read_lock, render
from gpusize_catalog.problems import GpuSizeError


@pytest.fixture
def kept(decide: Any) -> Any:
    """Decide the base with other fields, and keep the decision."""

    def make(**fields: Any) -> Entry:
        entry = entry_of(decide(**fields))
        assert entry is not None
        return entry

    return make


def test_a_lock_reads_back_as_written(tmp_path: Path, kept: Any) -> None:
    path = tmp_path / "gpusize.lock"
    entries = {"chat": kept(), "big": kept(latency={"timePerOutputTokenMs": 20})}
    path.write_text(render(entries), encoding="utf-8")
    assert read_lock(path) == entries


def test_a_lock_is_stable_and_sorted(kept: Any) -> None:
    one, two = kept(), kept(concurrency=4)
    assert render({"b": one, "a": two}) == render({"a": two, "b": one})
    assert list(json.loads(render({"b": one, "a": two}))["decisions"]) == ["a", "b"]


def test_shared_sequences_are_kept_where_there_are_any(kept: Any) -> None:
    """Files written before there were any read as none."""
    one = kept()
    assert '"cp"' not in render({"a": one})
    assert parse(render({"a": one}).encode())["a"].cp == 1
    many = one._replace(cp=4)
    assert parse(render({"a": many}).encode())["a"] == many
    assert many.layout.gpus == 4 * one.layout.gpus


def test_no_file_is_an_empty_lock(tmp_path: Path) -> None:
    assert read_lock(tmp_path / "gpusize.lock") == {}


def test_a_decision_comes_back_as_pins(kept: Any, declare: Any) -> None:
    workload = declare()
    pinned = kept().applied_to(workload)
    assert (pinned.instance_type, pinned.nodes_per_replica, pinned.tp) == ("g6.xlarge", 1, 1)
    assert pinned.market.value == "on-demand"


def test_another_declaration_is_decided_anew(kept: Any, declare: Any) -> None:
    changed = declare(concurrency=17)
    assert kept().applied_to(changed) is changed


def test_tags_and_waivers_decide_nothing(declare: Any) -> None:
    assert digest_of(declare(tags={"team": "a"})) == digest_of(declare())
    assert digest_of(declare(contextLength=4096)) != digest_of(declare())


def test_no_drift_where_nothing_changed(kept: Any, decide: Any) -> None:
    entry = kept()
    assert drift(decide(), entry) == []
    assert drift(decide(), {"chat": entry}) == []
    assert drift(decide(), {}) == []
    assert drift(decide(), None) == []


def test_a_better_type_is_told(kept: Any, decide: Any) -> None:
    entry = kept()._replace(instance_type="g5.xlarge", usd_per_hour=1.006)
    (reason,) = drift(decide(), entry)
    assert reason.name == "decision-drift"
    assert "g5.xlarge" in reason.text
    assert "gives g6.xlarge (tp=1) on-demand at $0.80/h" in reason.text
    assert reason.numbers["lockedUsdPerHour"] == 1.006


def test_catalogs_of_one_day_are_told_apart(kept: Any, decide: Any) -> None:
    entry = kept()._replace(instance_type="g5.xlarge")
    (same,) = drift(decide(), entry)
    assert "; the same catalog now gives g6.xlarge" in same.text
    digest = entry.catalog_digest
    (laid,) = drift(decide(), entry._replace(catalog_digest=f"{digest}+0123"))
    assert f"({digest}+0123); the same with other overlays ({digest}) gives" in laid.text
    (other,) = drift(decide(), entry._replace(catalog_digest="0123"))
    assert f"(0123); catalog {entry.catalog_version} ({digest}) gives" in other.text


def test_a_moved_price_is_told_and_a_cent_is_not(kept: Any, decide: Any) -> None:
    entry = kept()
    (reason,) = drift(decide(), entry._replace(usd_per_hour=1.5))
    assert "was $1.50/h" in reason.text
    assert drift(decide(), entry._replace(usd_per_hour=0.805)) == []
    (unknown,) = drift(decide(), entry._replace(usd_per_hour=None))
    assert "unknown price" in unknown.text


def test_a_changed_declaration_is_told(kept: Any, decide: Any) -> None:
    (reason,) = drift(decide(concurrency=17), kept())
    assert "the declaration has changed" in reason.text


def test_a_lost_plan_is_told(kept: Any, decide: Any, declare: Any) -> None:
    lost = {"latency": {"timePerOutputTokenMs": 0.1}}
    entry = kept()._replace(declaration=digest_of(declare(**lost)))
    (reason,) = drift(decide(**lost), entry)
    assert "has no plan" in reason.text


def test_no_plan_is_not_kept(decide: Any) -> None:
    assert entry_of(decide(market="spot")) is None


BROKEN = {
    "not json": ("{", "is not JSON"),
    "deep": ("[" * 100_000, "is not JSON"),
    "infinite": ('{"version": Infinity}', "is not JSON"),
    "a list": ("[]", "is not 1"),
    "another version": ('{"version": 2, "decisions": {}}', "is not 1"),
    "no decisions": ('{"version": 1, "decisions": []}', "is not a mapping"),
    "no mapping": ('{"version": 1, "decisions": {"a": 3}}', "decisions.a: is not a mapping"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_lock_is_a_problem(name: str) -> None:
    text, message = BROKEN[name]
    with pytest.raises(GpuSizeError) as raised:
        parse(text.encode(), "gpusize.lock")
    assert message in str(raised.value)
    assert "gpusize.lock" in str(raised.value)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("nodes", 0),
        ("tp", True),
        ("dp", "two"),
        ("market", "rental"),
        ("usdPerHour", -1),
        ("region", 7),
        ("instanceType", "x" * 1000),
        ("surprise", 1),
    ],
)
def test_every_key_is_checked(key: str, value: object, kept: Any) -> None:
    data = json.loads(render({"chat": kept()}))
    data["decisions"]["chat"][key] = value
    with pytest.raises(GpuSizeError) as raised:
        parse(json.dumps(data).encode())
    assert f"decisions.chat.{key}" in str(raised.value)


def test_all_problems_are_told_at_once(kept: Any) -> None:
    data = json.loads(render({"chat": kept()}))
    del data["decisions"]["chat"]["tp"]
    data["decisions"]["chat"]["nodes"] = 0
    with pytest.raises(GpuSizeError) as raised:
        parse(json.dumps(data).encode())
    assert len(raised.value.problems) == 2


def test_a_huge_lock_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gpusize.lock.MAX_BYTES", 1 << 20)
    path = tmp_path / "gpusize.lock"
    path.write_bytes(b" " * (2 << 20))
    with pytest.raises(GpuSizeError, match="larger than"):
        read_lock(path)


def test_a_folder_is_no_lock(tmp_path: Path) -> None:
    with pytest.raises(GpuSizeError, match="cannot be read"):
        read_lock(tmp_path)


def test_the_day_is_kept(kept: Any) -> None:
    assert kept().date == datetime.date(2026, 11, 30).isoformat()
