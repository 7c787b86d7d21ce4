import pulumi

from gpusize.component import GpuWorkload

search = GpuWorkload(
    "search-answers",
    {
        "kind": "serving",
        "model": "Qwen/Qwen2.5-7B-Instruct",
        "context_length": 8192,
        "concurrency": 4,
        "user_facing": True,
        "region": "us-east-1",
        "instance_type": "g6.xlarge",
        "market": "spot",
    },
)

pulumi.export("instanceType", search.instance_type)
