"""Every table of the catalog, declared: its file, its key, its columns in file order, its row type.

To add a column: the CSV header, the row type in `facts.py`, the line here and the property in
`schemas/<table>.schema.json`; tests say which one is missing.
"""

from __future__ import annotations

from typing import Any

from gpusize_catalog import columns as c
from gpusize_catalog import facts
from gpusize_catalog.engine_tables import ENGINES, FORMATS, KERNELS
from gpusize_catalog.table import Table

GPUS = Table(
    "gpus",
    facts.Gpu,
    ("id",),
    {
        "id": c.text,
        "display_name": c.text,
        "vendor": c.text,
        "architecture": c.text,
        "cuda": c.boolean,
        "compute_capability": c.opt_pair,
        "form_factor": c.text,
        "memory_type": c.text,
        "advertised_gb": c.opt_number,
        "ec2_mib": c.opt_mib,
        "driver_mib": c.opt_mib,
        "usable_mib": c.opt_mib,
        "usable_is_derived": c.boolean,
        "memory_bandwidth_gbs": c.opt_giga,
        "fp32_tflops": c.opt_tera,
        "tf32_tflops": c.opt_tera,
        "bf16_tflops": c.opt_tera,
        "fp16_tflops": c.opt_tera,
        "fp8_tflops": c.opt_tera,
        "int8_tops": c.opt_tera,
        "fp4_tflops": c.opt_tera,
        "native_bf16": c.boolean,
        "native_fp8": c.boolean,
        "native_int8": c.boolean,
        "native_fp4": c.boolean,
        "nvlink_gbs": c.opt_giga,
        "on_ec2": c.boolean,
        "confidence": c.text,
        "source": c.text,
        "notes": c.text,
        "usable_source": c.text,
        "driver_note": c.text,
        "precision_note": c.text,
        "isa": c.text,
        "memory_bandwidth_from_clock_gbs": c.opt_giga,
        "nvlink_generation": c.text,
        "pcie_generation": c.opt_whole,
        "pcie_lanes": c.opt_whole,
        "tdp_watts": c.opt_whole,
        "power_limit_watts": c.opt_whole,
        "mig": c.text,
        "ec2_families": c.words,
    },
)

INSTANCES = Table(
    "instances",
    facts.InstanceType,
    ("id",),
    {
        "id": c.text,
        "family": c.text,
        "status": c.status,
        "status_note": c.text,
        "cuda": c.boolean,
        "gpu_id": c.opt_text,
        "gpus": c.opt_whole,
        "partition": c.number,
        "gpu_memory_mib": c.opt_mib,
        "interconnect": c.interconnect,
        "nvlink_gbs": c.opt_giga,
        "pcie_gbs": c.opt_giga,
        "p2p": c.opt_boolean,
        "vcpus": c.opt_whole,
        "memory_mib": c.opt_mib,
        "arch": c.text,
        "nvme_gb": c.opt_number,
        "network_gbps": c.opt_number,
        "network_is_burst": c.boolean,
        "network_baseline_gbps": c.opt_number,
        "efa": c.boolean,
        "efa_interfaces": c.opt_whole,
        "ebs_baseline_mbps": c.opt_number,
        "ebs_max_mbps": c.opt_number,
        "usage_classes": c.word_set,
        "on_demand_listed": c.boolean,
        "on_demand_statement": c.text,
        "quota_on_demand": c.text,
        "quota_spot": c.text,
        "bare_metal": c.boolean,
        "first_seen": c.text,
        "last_seen": c.text,
        "source": c.text,
        "p2p_note": c.text,
        "interconnect_note": c.text,
        "interconnect_source": c.text,
        "api_name": c.text,
        "api_gpu_count": c.opt_whole,
        "nvme_disks": c.text,
        "network_performance": c.text,
        "network_cards": c.opt_whole,
        "current_generation": c.opt_boolean,
        "hibernation": c.opt_boolean,
        "cross_checked_with": c.text,
    },
    references={"gpu_id": "gpus"},
)

REGIONS = Table(
    "regions",
    facts.Region,
    ("id",),
    {
        "id": c.text,
        "partition": c.text,
        "coverage": c.coverage,
        "currency": c.text,
        "date": c.text,
        "source": c.text,
    },
)

OFFERINGS = Table(
    "offerings",
    facts.Offering,
    ("region", "instance_type"),
    {
        "region": c.text,
        "instance_type": c.text,
        "zones": c.words,
        "basis": c.text,
        "first_seen": c.text,
        "date": c.text,
        "source": c.text,
    },
    references={"region": "regions", "instance_type": "instances"},
)

PRICES = Table(
    "prices",
    facts.Price,
    ("region", "instance_type", "price_type", "zone", "date"),
    {
        "region": c.text,
        "instance_type": c.text,
        "price_type": c.price_type,
        "zone": c.text,
        "date": c.text,
        "amount": c.number,
        "currency": c.text,
        "unit": c.text,
        "source": c.text,
        "note": c.text,
    },
    references={"instance_type": "instances"},
)

PRICE_CHANGES = Table(
    "price_changes",
    facts.PriceChange,
    ("instance_type", "date"),
    {
        "instance_type": c.text,
        "date": c.text,
        "usd": c.number,
        "previous_usd": c.opt_number,
        "change_percent": c.opt_number,
        "source": c.text,
    },
    references={"instance_type": "instances"},
)

BILLING = Table(
    "billing",
    facts.BillingTerms,
    ("option",),
    {
        "option": c.text,
        "provider": c.text,
        "granularity": c.text,
        "minimum_charge": c.text,
        "upfront": c.text,
        "min_commitment": c.text,
        "max_commitment": c.text,
        "durations_allowed": c.text,
        "lead_time": c.text,
        "interruption_notice": c.text,
        "stop_supported": c.text,
        "hibernate_supported": c.text,
        "instance_types": c.text,
        "api": c.text,
        "cancel": c.text,
        "granularity_seconds": c.opt_whole,
        "minimum_seconds": c.opt_whole,
        "notice_seconds": c.opt_whole,
        "maximum_hours": c.opt_whole,
        "maximum_instances": c.opt_whole,
        "verified": c.boolean,
        "source": c.text,
        "note": c.text,
    },
)

STORAGE_NETWORK_PRICES = Table(
    "storage_network_prices",
    facts.StoragePrice,
    ("item", "region", "date"),
    {
        "item": c.text,
        "region": c.text,
        "usd": c.number,
        "unit": c.text,
        "date": c.text,
        "verified": c.boolean,
        "source": c.text,
        "note": c.text,
    },
)

MODELS = Table(
    "models",
    facts.ModelFacts,
    ("id",),
    {
        "id": c.text,
        "family": c.text,
        "total_params": c.whole,
        "active_params": c.opt_whole,
        "layers": c.whole,
        "encoder_layers": c.opt_whole,
        "hidden": c.whole,
        "intermediate": c.opt_whole,
        "heads": c.whole,
        "kv_heads": c.whole,
        "head_dim": c.whole,
        "vocab": c.whole,
        "tie_embeddings": c.boolean,
        "max_position": c.opt_whole,
        "attention_kind": c.text,
        "kv_lora_rank": c.opt_whole,
        "qk_rope_head_dim": c.opt_whole,
        "sliding_window": c.opt_whole,
        "layer_pattern": c.text,
        "experts_total": c.opt_whole,
        "experts_active": c.opt_whole,
        "shared_experts": c.opt_whole,
        "moe_intermediate": c.opt_whole,
        "first_dense_layers": c.opt_whole,
        "mtp_layers": c.opt_whole,
        "native_format": c.opt_text,
        "modality": c.text,
        "vision_params": c.opt_whole,
        "params_method": c.text,
        "source": c.text,
        "notes": c.text,
    },
)

MODEL_ALIASES = Table(
    "model_aliases",
    facts.ModelAlias,
    ("alias",),
    {
        "alias": c.text,
        "model_id": c.text,
        "max_position": c.opt_whole,
        "note": c.text,
    },
    references={"model_id": "models"},
)

MODEL_SUFFIXES = Table(
    "model_suffixes",
    facts.NameSuffix,
    ("suffix",),
    {"suffix": c.text, "kind": c.text, "note": c.text},
)

DIFFUSION_COMPONENTS = Table(
    "diffusion_components",
    facts.DiffusionComponent,
    ("model", "component", "class_or_name"),
    {
        "model": c.text,
        "component": c.text,
        "class_or_name": c.text,
        "params": c.opt_whole,
        "notes": c.text,
        "source": c.text,
    },
)

TABLES: dict[str, Table[Any]] = {
    table.name: table
    for table in (
        GPUS,
        INSTANCES,
        REGIONS,
        OFFERINGS,
        PRICES,
        PRICE_CHANGES,
        BILLING,
        STORAGE_NETWORK_PRICES,
        MODELS,
        MODEL_ALIASES,
        MODEL_SUFFIXES,
        DIFFUSION_COMPONENTS,
        ENGINES,
        KERNELS,
        FORMATS,
    )
}
