"""What the shipped catalog knows: a handful of known values, and rules for all rows."""

from __future__ import annotations

import re
from collections import defaultdict
from itertools import pairwise

import pytest

from gpusize_catalog.facts import Coverage, Interconnect, Price, PriceType, Status
from gpusize_catalog.prices import ANY_DAY
from gpusize_catalog.store import Catalog
from gpusize_catalog.units import GIGA, MIB, TERA

REGION = re.compile(r"[a-z]{2}(-gov)?-[a-z]+-\d")


def newest(catalog: Catalog, instance_type: str, region: str, price_type: PriceType) -> Price:
    return catalog.prices(instance_type, region, price_type)[0]


def every_price(catalog: Catalog) -> list[Price]:
    names = [one.id for one in catalog.instances()]
    names += [one.id for one in catalog.ultraservers()]
    rows = [
        price
        for region in catalog.regions()
        for priced in names
        for price_type in PriceType
        for price in catalog.prices(priced, region, price_type)
    ]
    return list(dict.fromkeys(rows))


def test_no_table_has_lost_rows(catalog: Catalog) -> None:
    """At least what the first release knew: rows may come without an edit of a number here."""
    assert len(catalog.gpus()) >= 43
    assert len(catalog.instances()) >= 99
    assert len(catalog.models()) >= 224
    # Three of the 108 known aliases became ids, because their rows were called "(text tower)".
    assert len(catalog.aliases()) >= 105
    assert len(catalog.regions()) >= 33
    assert len(catalog.billing_terms()) >= 14
    assert sum(len(catalog.offerings(region)) for region in catalog.regions()) >= 1098


@pytest.mark.parametrize(
    ("gpu", "usable_mib", "derived"),
    [
        ("H100", 81091, False),
        ("A10G", 22585, False),
        ("L4", 22563, False),
        ("L40S", 45467, False),
        ("T4", 14930, False),
        ("B200", 182641, False),
        ("B300", int(275040 * 0.985), True),
        ("V100-16GB", int(16160 * 0.985), True),
    ],
)
def test_usable_memory(catalog: Catalog, gpu: str, usable_mib: int, derived: bool) -> None:
    assert catalog.gpu(gpu).usable_bytes == usable_mib * MIB
    assert catalog.gpu(gpu).usable_is_derived is derived


@pytest.mark.parametrize("gpu", ["RTX-PRO-4500-SE", "V520", "GAUDI1", "TRN2"])
def test_usable_memory_is_unknown_without_a_figure(catalog: Catalog, gpu: str) -> None:
    assert catalog.gpu(gpu).usable_bytes is None


def test_units_of_rates(catalog: Catalog) -> None:
    h100 = catalog.gpu("H100")
    assert h100.memory_bandwidth == 3350 * GIGA
    assert h100.bf16_flops == 989.5 * TERA
    assert h100.nvlink_bandwidth == 900 * GIGA
    assert h100.compute_capability == (9, 0)


def test_trainium2_carries_the_advertised_memory_only(catalog: Catalog) -> None:
    assert catalog.gpu("TRN2").advertised_gb == 96
    assert catalog.gpu("TRN2").ec2_bytes is None
    assert catalog.instance("trn2.48xlarge").gpu_memory_bytes is None


@pytest.mark.parametrize(
    ("gpu", "flag"), [("A100-40GB", "fp8"), ("A10G", "fp8"), ("T4", "bf16"), ("H100", "fp4")]
)
def test_precisions_that_hardware_lacks(catalog: Catalog, gpu: str, flag: str) -> None:
    assert getattr(catalog.gpu(gpu), f"native_{flag}") is False


def test_gpu_memory_never_exceeds_what_the_driver_prints_by_more_than_rounding(
    catalog: Catalog,
) -> None:
    for gpu in catalog.gpus():
        if gpu.usable_bytes and gpu.driver_bytes:
            assert gpu.usable_bytes < gpu.driver_bytes * 1.001


def test_fractional_types_see_one_slice(catalog: Catalog) -> None:
    slice_of = catalog.instance("g6f.xlarge")
    assert (slice_of.gpus, slice_of.partition, slice_of.api_gpu_count) == (1, 0.125, 0)
    assert slice_of.gpu_memory_bytes == 2861 * MIB
    fractional = {one.family for one in catalog.instances() if one.partition < 1}
    assert fractional >= {"g6f", "gr6f"}
    assert not fractional & {"g6", "gr6"}


def test_types_without_figures_stay_unknown(catalog: Catalog) -> None:
    assert catalog.instance("trn2u.48xlarge").gpus is None
    assert catalog.instance("g2.8xlarge").gpu_id is None
    assert catalog.instance("g2.8xlarge").gpus == 4
    assert catalog.instance("p6e-gb200.36xlarge").efa
    assert catalog.instance("p6e-gb200.36xlarge").efa_interfaces is None


def test_nvlink_is_where_the_facts_have_it(catalog: Catalog) -> None:
    joined = (Interconnect.NVLINK, Interconnect.NVSWITCH)
    families = {one.family for one in catalog.instances() if one.interconnect in joined}
    assert families >= {
        "p3",
        "p3dn",
        "p4d",
        "p4de",
        "p5",
        "p5e",
        "p5en",
        "p6-b200",
        "p6-b300",
        "p6e-gb200",
    }
    assert not families & {"p2", "g4dn", "g5", "g5g", "g6", "g6e", "g6f", "g7", "g7e"}
    assert all(
        (one.interconnect in joined) == (one.interconnect_bandwidth is not None)
        for one in catalog.instances()
    )


def test_status(catalog: Catalog) -> None:
    retired = {one.family for one in catalog.instances() if one.status is Status.RETIRED}
    assert retired >= {"dl1", "g2", "g3", "g3s", "g4ad", "p2", "p3"}
    assert not retired & {"p5", "p6-b200", "g6", "g6e"}
    assert catalog.instance("p6e-gb200.36xlarge").status is Status.ULTRASERVER_ONLY
    assert catalog.instance("p5.48xlarge").status is Status.CURRENT


def test_retired_types_are_offered_nowhere(catalog: Catalog) -> None:
    """GovCloud and China are known by price lists alone, which keep retired types."""
    for one in catalog.instances():
        if one.status is Status.RETIRED:
            regions = [catalog.region(code) for code in catalog.regions_of(one.id)]
            assert all(region and region.coverage is Coverage.PRICE_LIST for region in regions)


def test_a_statement_of_aws_is_more_than_a_missing_price(catalog: Catalog) -> None:
    stated = {one.id for one in catalog.instances() if one.on_demand_statement}
    assert stated >= {"p5e.48xlarge", "p6e-gb200.36xlarge"}
    missing = {one.id for one in catalog.instances() if not one.on_demand_listed} - stated
    assert missing >= {"trn2.3xlarge", "trn2.48xlarge", "trn2u.48xlarge"}


def test_listed_on_demand_means_that_a_price_exists(catalog: Catalog) -> None:
    priced = {
        price.instance_type
        for price in every_price(catalog)
        if price.price_type is PriceType.ON_DEMAND
    }
    assert priced == {one.id for one in catalog.instances() if one.on_demand_listed}


def test_regions(catalog: Catalog) -> None:
    coverage = defaultdict(set)
    for code in catalog.regions():
        region = catalog.region(code)
        assert region is not None
        assert REGION.fullmatch(code)
        coverage[region.coverage].add(code)
        assert (region.currency == "CNY") == code.startswith("cn-")
    assert len(coverage[Coverage.API]) >= 30
    assert coverage[Coverage.PRICE_LIST] >= {"us-gov-east-1", "us-gov-west-1", "cn-north-1"}


def test_offerings_where_they_are_known_to_be_or_not(catalog: Catalog) -> None:
    ireland = {catalog.instance(one).family for one in catalog.offerings("eu-west-1")}
    assert ireland >= {"g4dn", "g5", "p4d"}
    assert {
        region
        for region in catalog.regions_of("p6-b300.48xlarge")
        if catalog.offerings(region)["p6-b300.48xlarge"].basis == "api"
    } >= {
        "ap-northeast-2",
        "ap-south-2",
        "ap-southeast-3",
        "sa-east-1",
        "us-east-1",
        "us-west-2",
    }
    assert catalog.offering("p5.48xlarge", "eu-central-1") is None
    assert "use1-az6" in catalog.offerings("us-east-1")["p5.48xlarge"].zones


@pytest.mark.parametrize(
    ("instance_type", "region", "usd"),
    [
        ("g5.xlarge", "us-east-1", 1.006),
        ("p5.48xlarge", "us-east-1", 55.04),
        ("p4d.24xlarge", "us-east-1", 21.9576),
        ("g6e.xlarge", "us-east-1", 1.861),
        ("p6-b200.48xlarge", "us-east-1", 113.9328),
    ],
)
def test_on_demand_prices(catalog: Catalog, instance_type: str, region: str, usd: float) -> None:
    assert newest(catalog, instance_type, region, PriceType.ON_DEMAND).usd == usd


def test_on_demand_is_covered_in_us_east_1(catalog: Catalog) -> None:
    """All offered types but those that AWS does not sell so, and Trainium2, have a price."""
    unpriced = {
        one
        for one in catalog.offerings("us-east-1")
        if not catalog.prices(one, "us-east-1", PriceType.ON_DEMAND)
    }
    assert all(not catalog.instance(one).on_demand_listed for one in unpriced)


def test_newest_price_comes_first(catalog: Catalog) -> None:
    for region in catalog.regions():
        for one in catalog.offerings(region):
            for price_type in PriceType:
                dates = [price.date for price in catalog.prices(one, region, price_type)]
                assert dates == sorted(dates, reverse=True)


def test_capacity_block_prices_of_region_groups(catalog: Catalog) -> None:
    block = newest(catalog, "p5.48xlarge", "us-east-1", PriceType.CAPACITY_BLOCK)
    assert (block.usd, block.date, block.is_grouped) == (41.528, "2026-09-19", True)
    old = catalog.prices("p5.48xlarge", "us-east-1", PriceType.CAPACITY_BLOCK)[1]
    assert (old.usd, old.is_grouped) == (39.33, False)


def test_a_region_taken_out_of_a_group_keeps_its_own_price(catalog: Catalog) -> None:
    block = newest(catalog, "p5e.48xlarge", "us-west-1", PriceType.CAPACITY_BLOCK)
    assert (block.usd, block.date) == (49.749, "2026-06-23")


def test_ultraservers_are_priced_by_the_ultraserver(catalog: Catalog) -> None:
    price = newest(catalog, "u-p6e-gb200x72", "us-east-1", PriceType.CAPACITY_BLOCK)
    assert (price.amount, price.unit, price.zone) == (
        761.904,
        "ultraserver-hour",
        "us-east-1-dfw-2a",
    )
    for server in catalog.ultraservers():
        gpus = catalog.instance(server.instance_type).gpus
        assert gpus is not None
        assert server.gpus == server.instances * gpus


def test_prices_are_positive_and_in_the_currency_of_their_region(catalog: Catalog) -> None:
    prices = every_price(catalog)
    assert len(prices) > 1500
    for price in prices:
        assert price.amount > 0
        assert (price.currency == "CNY") == price.region.startswith("cn-")
        assert (price.usd is None) == (price.currency != "USD")


def test_a_price_is_kept_when_it_changed_and_when_it_was_last_confirmed(catalog: Catalog) -> None:
    """The rule of SOURCES.md: no row stands between two dates of the same price."""
    kept = defaultdict(list)
    for price in every_price(catalog):
        kept[price.region, price.instance_type, price.price_type, price.zone].append(price)
    for prices in kept.values():
        amounts = [price.amount for price in sorted(prices, key=lambda price: price.date)]
        triples = zip(amounts, amounts[1:], amounts[2:], strict=False)
        assert not any(first == middle == last for first, middle, last in triples)


def test_spot_prices_name_a_zone_or_say_that_they_are_an_average(catalog: Catalog) -> None:
    for price in every_price(catalog):
        if price.price_type is PriceType.SPOT and not price.zone:
            assert "average" in price.note or "uncertain" in price.note


def test_price_changes_agree_with_the_price_in_force(catalog: Catalog) -> None:
    for one in catalog.instances():
        changes = catalog.price_changes(one.id)
        prices = catalog.prices(one.id, "us-east-1", PriceType.ON_DEMAND)
        if changes and prices:
            assert changes[-1].usd == pytest.approx(prices[0].amount, rel=1e-4)
        for before, after in pairwise(changes):
            assert after.previous_usd == before.usd


def test_billing_terms_of_the_markets(catalog: Catalog) -> None:
    assert {"on-demand", "spot", "capacity-block"} <= {
        terms.option for terms in catalog.billing_terms()
    }
    spot = catalog.billing("spot")
    block = catalog.billing("capacity-block")
    assert spot is not None
    assert spot.notice_seconds == 120
    assert block is not None
    assert (block.maximum_hours, block.maximum_instances) == (182 * 24, 64)
    assert block.notice_seconds == 30 * 60


def test_storage_prices(catalog: Catalog) -> None:
    gp3 = catalog.storage_price("ebs-gp3-storage", "us-east-1", ANY_DAY)
    free = catalog.storage_price("egress-internet-free", "eu-west-1", ANY_DAY)
    assert gp3 is not None
    assert (gp3.usd, gp3.unit) == (0.08, "GB-month")
    assert free is not None
    assert free.usd == 0
    assert catalog.storage_price("ebs-gp3-storage", "eu-west-1", ANY_DAY) is None


def test_models(catalog: Catalog) -> None:
    llama = catalog.model("meta-llama/Llama-3.1-70B")
    assert (llama.total_params, llama.layers, llama.kv_heads) == (70553706496, 80, 8)
    whisper = catalog.model("openai/whisper-large-v3-turbo")
    assert (whisper.encoder_layers, whisper.layers) == (32, 4)
    ultra = catalog.model("nvidia/NVIDIA-Nemotron-3-Ultra-550B-A55B-BF16")
    assert ultra.layers == 48 + 48 + 12
    assert catalog.model("MiniMaxAI/MiniMax-M2.7").layer_pattern == "full:62"


def test_gemma_counts_its_tower(catalog: Catalog) -> None:
    gemma = catalog.model("google/gemma-3-27b-it")
    assert gemma.modality == "vision-language"
    assert gemma.vision_params == 420_000_000
    assert gemma.total_params == 27_009_002_240 + 420_000_000
    assert gemma.active_params == 27_009_002_240


def test_a_model_with_a_tower_for_images_takes_images(catalog: Catalog) -> None:
    for model in catalog.models():
        if model.vision_params:
            assert model.modality in ("vision-language", "audio"), model.id


def test_dense_models_have_no_expert_fields(catalog: Catalog) -> None:
    for model in catalog.models():
        expert_fields = (model.experts_active, model.moe_intermediate)
        assert bool(model.experts_total) or expert_fields == (None, None), model.id


def test_diffusion_components(catalog: Catalog) -> None:
    flux = catalog.components("black-forest-labs/FLUX.1-dev")
    assert [part.component for part in flux] == [
        "transformer",
        "text-encoder",
        "text-encoder",
        "vae",
    ]
    uncounted = [part for part in catalog.components("Lightricks/LTX-2") if part.params is None]
    assert [part.component for part in uncounted] == ["vae"]


def test_geometry_of_a_pipeline_has_a_source(catalog: Catalog) -> None:
    for name in catalog.pipelines():
        for part in catalog.components(name):
            known = any((part.hidden, part.patch, part.scale, part.decoder_kind))
            assert bool(part.geometry_source) == known, name
            assert (part.decoder_kind != "") == (part.decoder_width is not None), name


def test_blocks_of_a_pipeline_agree_with_its_parameters(catalog: Catalog) -> None:
    """A token passes twelve times the width squared per block: a third to all parameters."""
    for name in catalog.pipelines():
        for part in catalog.components(name):
            if part.blocks is not None and part.hidden and part.params:
                share = 12 * part.blocks * part.hidden**2 / part.params
                assert 0.3 < share < 1.1, (name, share)
