"""Every table of the catalog, declared: file, key, columns in file order, row type, references.

Columns called like the fields of the row type come from its annotations; where a column says a unit
(`usable_mib` for `usable_bytes`) all are listed.

To add a column: the CSV header, the row type in `facts.py`, the line here and the property in
`schemas/<table>.schema.json`; tests say which one is missing.
"""

from __future__ import annotations

from typing import Any

from gpusize_catalog import columns as c
from gpusize_catalog import facts
from gpusize_catalog.engine_tables import (
    DIFFUSION_TRAINERS,
    ENGINES,
    FORMATS,
    KERNELS,
    SPEEDS,
    TRAINERS,
)
from gpusize_catalog.table import Table, columns_of

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
        "matmul_tflops": c.opt_tera,
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
    references={"gpu_id": ("gpus",)},
)

ULTRASERVERS = Table(
    "ultraservers",
    facts.UltraServer,
    ("id",),
    columns_of(facts.UltraServer),
    references={"instance_type": ("instances",)},
)

REGIONS = Table(
    "regions",
    facts.Region,
    ("id",),
    columns_of(facts.Region, coverage=c.coverage),
)

OFFERINGS = Table(
    "offerings",
    facts.Offering,
    ("region", "instance_type"),
    columns_of(facts.Offering),
    references={"region": ("regions",), "instance_type": ("instances",)},
)

PRICES = Table(
    "prices",
    facts.Price,
    ("region", "instance_type", "price_type", "zone", "date"),
    columns_of(facts.Price, price_type=c.price_type),
    references={"region": ("regions",), "instance_type": ("instances", "ultraservers")},
)

PRICE_CHANGES = Table(
    "price_changes",
    facts.PriceChange,
    ("instance_type", "date"),
    columns_of(facts.PriceChange),
    references={"instance_type": ("instances",)},
)

BILLING = Table(
    "billing",
    facts.BillingTerms,
    ("option",),
    columns_of(facts.BillingTerms),
)

STORAGE_NETWORK_PRICES = Table(
    "storage_network_prices",
    facts.StoragePrice,
    ("item", "region", "date"),
    columns_of(facts.StoragePrice),
    references={"region": ("regions",)},
)

MODELS = Table(
    "models",
    facts.ModelFacts,
    ("id",),
    columns_of(facts.ModelFacts),
    references={"native_format": ("formats",)},
)

MODEL_ALIASES = Table(
    "model_aliases",
    facts.ModelAlias,
    ("alias",),
    columns_of(facts.ModelAlias),
    references={"model_id": ("models",), "native_format": ("formats",)},
)

MODEL_SUFFIXES = Table(
    "model_suffixes",
    facts.NameSuffix,
    ("suffix",),
    columns_of(facts.NameSuffix),
    references={"native_format": ("formats",)},
)

REPUBLISHERS = Table(
    "republishers",
    facts.Republisher,
    ("owner",),
    columns_of(facts.Republisher),
)

DIFFUSION_COMPONENTS = Table(
    "diffusion_components",
    facts.DiffusionComponent,
    ("model", "component", "class_or_name"),
    columns_of(facts.DiffusionComponent),
)

TABLES: dict[str, Table[Any]] = {
    table.name: table
    for table in (
        GPUS,
        INSTANCES,
        ULTRASERVERS,
        REGIONS,
        OFFERINGS,
        PRICES,
        PRICE_CHANGES,
        BILLING,
        STORAGE_NETWORK_PRICES,
        MODELS,
        MODEL_ALIASES,
        MODEL_SUFFIXES,
        REPUBLISHERS,
        DIFFUSION_COMPONENTS,
        ENGINES,
        KERNELS,
        SPEEDS,
        FORMATS,
        TRAINERS,
        DIFFUSION_TRAINERS,
    )
}
