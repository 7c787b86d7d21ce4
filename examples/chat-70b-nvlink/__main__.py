import pulumi

from gpusize.component import GpuWorkload

chat = GpuWorkload(
    "chat",
    {
        "kind": "serving",
        "model": "meta-llama/Llama-3.1-70B-Instruct",
        "weights_format": "bf16",
        "engine": "vllm@0.20",
        "context_length": 32768,
        "prompt_tokens": {"mean": 1500, "p95": 6000},
        "output_tokens": {"mean": 300, "p95": 900},
        "concurrency": 32,
        "latency": {"time_per_output_token_ms": 30},
        "user_facing": True,
        "horizon_months": 12,
        "region": "us-east-1",
        "tags": {"team": "assistants", "cost-center": "1204"},
    },
)

pulumi.export("instanceType", chat.instance_type)
pulumi.export("layout", chat.layout)
pulumi.export("hourlyCost", chat.hourly_cost)
pulumi.export("reasons", chat.reasons)
