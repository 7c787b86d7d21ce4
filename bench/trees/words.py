"""What random properties say: words that mean something, and what nobody expects there."""

from __future__ import annotations

import base64
from typing import Any

from gpusize_policies.reading import SENTINELS

CANARY = "CANARY-8b02"
"""Stands for every secret: no message may hold it."""

MODELS = (
    "meta-llama/Llama-3.1-8B-Instruct",
    "meta-llama/Llama-3.1-70B-Instruct",
    "Qwen/Qwen2.5-7B-Instruct",
    "openai/gpt-oss-20b",
)
TYPES = (
    "g4dn.xlarge",
    "g5.12xlarge",
    "g5.xlarge",
    "g6.xlage",
    "g6.xlarge",
    "g6e.12xlarge",
    "inf2.xlarge",
    "m7i.large",
    "p3.2xlarge",
    "p4d.24xlarge",
    "p5.48xlarge",
    "p5en.48xlarge",
    "trn1.32xlarge",
)
REGIONS = ("us-east-1", "us-west-2", "eu-west-1", "af-south-1", "us-gov-west-1")
ZONES = ("us-east-1a", "us-east-1b", "us-east-1c", "us-west-2a", "use1-az4")
COMMANDS = (
    "vllm serve meta-llama/Llama-3.1-8B-Instruct --tensor-parallel-size 1 --max-model-len 8192",
    "vllm serve meta-llama/Llama-3.1-70B-Instruct --tensor-parallel-size 4",
    "python -m sglang.launch_server --model-path Qwen/Qwen2.5-7B-Instruct --tp 2",
    "torchrun --nproc_per_node 8 train.py --model_name_or_path meta-llama/Llama-3.1-8B",
    f"export TOKEN={CANARY}",
)
SCRIPTS = tuple(f"#!/bin/bash\nexport HF_TOKEN={CANARY}\n{line}\n" for line in COMMANDS)
TEXTS = (*SCRIPTS, *(base64.b64encode(one.encode()).decode() for one in SCRIPTS))

WORDS: dict[str, tuple[Any, ...]] = {
    "allocationStrategy": (
        "lowest-price",
        "price-capacity-optimized",
        "capacityOptimized",
        "SPOT_CAPACITY_OPTIMIZED",
    ),
    "availabilityZone": ZONES,
    "availabilityZones": ZONES,
    "bidPercentage": (40, 60, 100),
    "capacityType": ("ON_DEMAND", "SPOT", "CAPACITY_BLOCK"),
    "defaultTargetCapacityType": ("spot", "on-demand", "capacity-block"),
    "desiredCapacity": (0, 1, 2, 4),
    "desiredCapacityType": ("units", "vcpu"),
    "deviceName": ("/dev/xvda", "/dev/sda1", "/dev/sdf"),
    "endDate": ("2026-12-24", "2027-06-30T00:00:00Z", "soon"),
    "entryPoint": (["bash", "-c"],),
    "instanceCount": (0, 1, 2, 8),
    "instanceFamily": ("g6", "p5", "m7i"),
    "instanceType": TYPES,
    "instanceTypes": (*TYPES, "g6", "p5", "optimal"),
    "interfaceType": ("efa", "efa-only", "interface"),
    "launchSpecifications": (),
    "marketType": ("spot", "capacity-block", "interruptible-capacity-reservation"),
    "maxPrice": ("0.1", "1.5", 3, ""),
    "maxSize": (0, 1, 2, 8),
    "minSize": (0, 1, 2),
    "onDemandBaseCapacity": (0, 1, 2),
    "onDemandPercentageAboveBaseCapacity": (0, 50, 100),
    "protocol": ("-1", "tcp", -1),
    "region": REGIONS,
    "resourceType": ("instance", "volume"),
    "self": (True, False),
    "serviceName": ("com.amazonaws.us-east-1.s3", "com.amazonaws.us-east-1.ecr.dkr"),
    "spotPrice": ("0.1", "1.5", 3),
    "strategy": ("cluster", "spread", "partition"),
    "throughput": (125, 250, 1000),
    "type": ("EC2", "SPOT", "FARGATE", "maintain", "ingress", "egress"),
    "userData": TEXTS,
    "userDataBase64": TEXTS,
    "volumeSize": (8, 100, 500),
    "volumeType": ("gp3", "gp2", "io2"),
    "weightedCapacity": (1, "2", 4),
}
"""Values by the name of the property, beside those of the samples."""

UNKNOWNS = tuple(sorted(SENTINELS))
ODD: tuple[Any, ...] = (
    None,
    True,
    False,
    "",
    " ",
    0,
    -1,
    0.5,
    1e300,
    10**18,
    "7",
    "1e999",
    "nan",
    "\x1b]0;x\x07",
    "\u202e",
    "\ud800"[:0] + "größe",
    CANARY,
    f"{CANARY} " * 200,
    f"g6.{CANARY}",
    f"us-{CANARY}-1".lower(),
    '{"a": "' + CANARY,
    f'["{CANARY}"]',
    [],
    {},
    [None],
    [[]],
    {"a": CANARY},
    [CANARY],
    {"instanceType": {"instanceType": CANARY}},
)
"""What no property is expected to hold."""
