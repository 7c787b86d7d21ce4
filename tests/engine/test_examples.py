"""Every example, previewed on the real engine, behaves as its story says."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import pytest

from tools.engine.find import ROOT

if TYPE_CHECKING:
    from tests.engine.harness import Workshop


class Story(NamedTuple):
    example: str
    passes: bool
    policies: dict[str, str]
    """Policy name -> level of every violation, nothing else is reported."""
    says: tuple[str, ...]
    """What the user must be able to read in the preview."""


STORIES = (
    Story("chat-8b-l4", True, {}, ("g6.xlarge", "one L4 holds it", "meets the target of 60 ms")),
    Story(
        "chat-70b-pinned",
        False,
        {"weights-exceed-vram": "mandatory", "spot-for-user-facing": "mandatory"},
        ("131.4 GiB", "20.3 GiB", "Fix: "),
    ),
    Story(
        "chat-70b-nvlink",
        True,
        {"steady-serving-on-demand": "advisory"},
        ("p4d.24xlarge", "over NVLink", "pays off after"),
    ),
    Story(
        "vision-qwen-vl",
        True,
        {},
        ("g6e.xlarge", "one L40S holds it", "meets the target of 60 ms", "to the first token"),
    ),
    Story(
        "team-prices",
        True,
        {},
        (
            "on-demand prices are 8% below the list, by the settings file",
            "a 1-year savings-plan covers the bill: $0.54/h, $0.74/h without",
            "hourlyCost  : 0.5405",
        ),
    ),
    Story(
        "evaluation-spot",
        True,
        {},
        ('market      : "spot"', "55% below on-demand", "runCost"),
    ),
    Story("batch-13b-awq", True, {}, ("spot",)),
    Story("service-on-spot", False, {"spot-for-user-facing": "mandatory"}, ("two minutes",)),
    Story(
        "nightly-evaluation",
        True,
        {"on-demand-for-fault-tolerant-batch": "advisory"},
        ("$0.38/h",),
    ),
    Story(
        "bursty-always-on", True, {"always-on-for-bursty": "advisory"}, ("idle hours", "per month")
    ),
    Story(
        "office-hours-assistant",
        True,
        {},
        (
            '[0]: "g6.xlarge"',
            "aws:autoscaling:Schedule assistant-up",
            'scaling           : "scheduled"',
        ),
    ),
    Story("qlora-8b", True, {}, ("g6.xlarge", "one L4 holds it", "h to the end")),
    Story(
        "qlora-70b",
        True,
        {},
        ("g7e.2xlarge", "one RTX-PRO-6000-SE holds it", "h to the end", "55% below on-demand"),
    ),
    Story("lora-flux-l40s", True, {}, ("g6e.xlarge", "one L40S holds it", "train", "h to the end")),
    Story(
        "full-13b-pcie",
        False,
        {"training-states-exceed-vram": "mandatory", "nvlink-required": "advisory"},
        ("g5.48xlarge", "of a step goes into moving"),
    ),
    Story(
        "full-13b-nvlink",
        True,
        {},
        ("p5.48xlarge", "each of 8 H100 holds it", "over NVLink", "h to the end"),
    ),
    Story(
        "pretrain-on-spot",
        False,
        {
            "spot-without-checkpoint": "mandatory",
            "pretraining-without-reservation": "mandatory",
            "long-training-on-spot": "advisory",
        },
        ("one in 6 h of 4 nodes is assumed", "2,597 GPU-hours", "capacityBlock: {days: 5}"),
    ),
    Story(
        "pretrain-block-too-short",
        False,
        {"capacity-block-shorter-than-run": "mandatory"},
        ("a block of 3 days has 71.25 h of work", "takes 81.15 h", "capacityBlock: {days: 5}"),
    ),
    Story(
        "pretrain-block",
        True,
        {},
        ("each of 32 H100 holds it", "over EFA", "81.2 h to the end", "runCost     : 19935.8"),
    ),
    Story("images-flux-l40s", True, {}, ("g6e.xlarge", "decode", "largestBatch: 4")),
    Story("music-ace-t4", True, {}, ("g4dn.xlarge", "decode", "largestSeconds: 600")),
    Story(
        "video-on-24gb",
        False,
        {"pipeline-exceeds-vram": "mandatory"},
        ("to decode needs 32.9 GiB", "22.1 GiB", "Fix: "),
    ),
    Story(
        "raw-nodes",
        False,
        {
            "multi-node-without-efa": "mandatory",
            "multi-node-without-placement-group": "advisory",
        },
        ("of a step goes into the network", "32 on p5.48xlarge", "strategy: cluster"),
    ),
    Story(
        "waived-demo",
        True,
        {"waived-finding": "advisory"},
        (
            "waived by demo-on-spot until 2026-12-31 (31 days left): GPU501",
            "waived by kiosk-spot until 2026-12-10 (10 days left): GPU501",
            "waived by kiosk-pool",
            "waived by all-day",
        ),
    ),
    Story(
        "raw-instance",
        False,
        {
            "weights-exceed-vram": "mandatory",
            "spot-for-user-facing": "mandatory",
            "spot-single-pool": "advisory",
        },
        ("assistant", "coder", "comes from one pool"),
    ),
)


def test_every_example_has_a_story() -> None:
    folders = {path.parent.name for path in (ROOT / "examples").glob("*/Pulumi.yaml")}
    assert folders == {story.example for story in STORIES}


@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.example)
def test_example_behaves_as_its_story_says(story: Story, workshop: Workshop) -> None:
    run = workshop.example(story.example).preview()
    assert run.ok is story.passes, run.text
    assert {found.policy: found.level for found in run.violations} == story.policies
    for words in story.says:
        assert words in run.text
