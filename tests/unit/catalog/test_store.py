"""Looking things up: ids, aliases, twins, regions, suggestions."""

from __future__ import annotations

import pytest

from gpusize_catalog.facts import PriceType
from gpusize_catalog.prices import ANY_DAY
from gpusize_catalog.problems import GpuSizeError
from gpusize_catalog.store import Catalog, covers, load


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return load()


@pytest.mark.parametrize(
    ("method", "word", "meant"),
    [
        ("gpu", "H10O", "H100"),
        ("instance", "g5.xlrge", "g5.xlarge"),
        ("model", "meta-lama/Llama-3.1-8B", "meta-llama/Llama-3.1-8B"),
    ],
)
def test_unknown_id_gets_did_you_mean(catalog: Catalog, method: str, word: str, meant: str) -> None:
    with pytest.raises(GpuSizeError) as caught:
        getattr(catalog, method)(word)
    (problem,) = caught.value.problems
    assert repr(word) in problem.message
    assert "did you mean" in problem.fix
    assert meant in problem.fix


def test_nothing_alike_gets_the_place_to_add_it(catalog: Catalog) -> None:
    with pytest.raises(GpuSizeError, match=r"add it to gpus\.csv"):
        catalog.gpu("zzzzzzzz")


def test_long_words_are_cut_in_messages(catalog: Catalog) -> None:
    with pytest.raises(GpuSizeError) as caught:
        catalog.model("x" * 100_000)
    assert len(str(caught.value)) < 300


def test_suggest_gives_at_most_three_ids_or_aliases(catalog: Catalog) -> None:
    assert catalog.suggest("instances", "G5.XLARGE")[0] == "g5.xlarge"
    assert len(catalog.suggest("instances", "g5")) <= 3
    assert "google/gemma-2b-it" in catalog.suggest("models", "google/gemma-2b-i")
    assert catalog.suggest("gpus", "") == ()


def test_find_instance_returns_none_for_what_is_no_accelerated_type(catalog: Catalog) -> None:
    assert catalog.find_instance("m5.large") is None
    found = catalog.find_instance("g5.xlarge")
    assert found is not None
    assert found.gpu_id == "A10G"


@pytest.mark.parametrize(
    ("name", "model", "how"),
    [
        ("meta-llama/Llama-3.1-8B", "meta-llama/Llama-3.1-8B", ""),
        ("META-LLAMA/llama-3.1-8b", "meta-llama/Llama-3.1-8B", "taken as"),
        ("meta-llama/Llama-3.1-8B-Instruct", "meta-llama/Llama-3.1-8B", "same architecture"),
        ("Qwen/Qwen3-8B-AWQ", "Qwen/Qwen3-8B", "-AWQ is an AWQ copy"),
        ("Qwen/Qwen2.5-7B-Instruct-GPTQ-Int4", "Qwen/Qwen2.5-7B", "-GPTQ-Int4"),
        ("Qwen/Qwen3-8B-Base-FP8", "Qwen/Qwen3-8B", "-Base"),
        ("google/gemma-3-27b", "google/gemma-3-27b-it", "twin without -it"),
    ],
)
def test_model_match_says_what_it_assumed(
    catalog: Catalog, name: str, model: str, how: str
) -> None:
    found, said = catalog.model_match(name)
    assert found.id == model
    assert how in said
    assert bool(said) == (name != model)


@pytest.mark.parametrize(
    "name",
    [
        "someone/Llama-3.1-8B",
        "meta-llama/Llama-3.1-9B-Instruct",
        "meta-llama/Llama-3.1-8B-Instruct-merged",
        "-AWQ",
        "",
        "Qwen/Qwen3-8B-AWQ-AWQ-AWQ-AWQ",
    ],
)
def test_only_exact_remainders_match(catalog: Catalog, name: str) -> None:
    assert catalog.find_model(name) is None


@pytest.mark.parametrize(
    ("name", "native_format"),
    [
        ("Qwen/Qwen2.5-14B-Instruct", "bf16"),
        ("Qwen/Qwen2.5-14B-Instruct-AWQ", "awq"),
        ("Qwen/Qwen3-14B-FP8", "fp8-block"),
        ("Qwen/Qwen3-8B-GPTQ-Int8", "gptq-int8"),
        ("Qwen/Qwen3-8B-GGUF", None),
    ],
)
def test_a_copy_has_its_own_checkpoint_format(
    catalog: Catalog, name: str, native_format: str | None
) -> None:
    assert catalog.model(name).native_format == native_format


def test_an_alias_may_have_its_own_limit(catalog: Catalog) -> None:
    assert catalog.model("Qwen/Qwen3-4B").max_position == 40960
    assert catalog.model("Qwen/Qwen3-4B-Instruct-2507").max_position == 262144


@pytest.mark.parametrize(
    ("patterns", "region", "holds"),
    [
        ("*", "eu-west-1", True),
        ("us-*", "us-east-1", True),
        ("us-*", "eu-west-1", False),
        ("eu-* ap-*", "ap-south-1", True),
        ("* !us-west-1", "us-west-1", False),
        ("* !us-west-1", "us-west-2", True),
        ("us-east-1", "us-east-1", False),
    ],
)
def test_region_patterns(patterns: str, region: str, holds: bool) -> None:
    assert covers(patterns, region) is holds


def test_unknown_places_have_no_rows(catalog: Catalog) -> None:
    assert catalog.offerings("mars-north-1") == {}
    assert catalog.region("mars-north-1") is None
    assert catalog.prices("g5.xlarge", "mars-north-1", PriceType.ON_DEMAND) == ()
    assert catalog.regions_of("m5.large") == ()
    assert catalog.billing("barter") is None
    assert catalog.storage_price("floppy", "us-east-1", ANY_DAY) is None
    assert catalog.components("nobody/nothing") == ()
    assert catalog.engines("nothing") == ()
    assert catalog.kernels("bf16", "nothing") == ()
    assert catalog.format("nothing") is None


def test_lookups_are_remembered(catalog: Catalog) -> None:
    assert catalog.gpu("H100") is catalog.gpu("H100")
    assert catalog.offerings("us-east-1") is catalog.offerings("us-east-1")
    assert catalog.instances() is catalog.instances()


def test_nothing_is_read_before_it_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(table: str) -> None:
        raise AssertionError(f"{table} was read")

    monkeypatch.setattr("gpusize_catalog.store.shipped_groups", refuse)
    catalog = load()
    with pytest.raises(AssertionError, match="gpus was read"):
        catalog.gpu("H100")


def test_load_says_which_data_it_holds(catalog: Catalog) -> None:
    assert len(catalog.digest) == 12
    assert catalog.version >= "2026-10-27"


def test_search_wants_every_word(catalog: Catalog) -> None:
    found = catalog.search("llama 70b")
    assert ("models", "meta-llama/Llama-3.1-70B") in {entry[:2] for entry in found}
    assert all("70b" in f"{entry[1]} {entry[2]}".lower() for entry in found)
    assert {entry[0] for entry in catalog.search("l40s")} == {"gpus", "instances"}
    assert catalog.search("l40s h100") == []


def test_search_tells_what_is_unknown(catalog: Catalog) -> None:
    (entry,) = catalog.search("trn2u")
    assert "unknown number of" in entry[2]
    (entry,) = (one for one in catalog.search("g6f.large") if one[1] == "g6f.large")
    assert "1/8" in entry[2]


def test_search_finds_pipelines(catalog: Catalog) -> None:
    (flux,) = catalog.search("FLUX.1-schnell image")
    assert flux[2] == "16.9B parameters, 4 components, makes image"
    assert catalog.search("suno/bark")[0][2] == "0.4B parameters, 4 components, makes audio"


def test_a_pipeline_is_found_by_its_last_part(catalog: Catalog) -> None:
    assert catalog.pipeline_id("flux.1-DEV") == "black-forest-labs/FLUX.1-dev"
    assert catalog.pipeline_id("black-forest-labs/flux.1-dev") == "black-forest-labs/FLUX.1-dev"
    assert catalog.pipeline_id("FLUX") is None


def test_search_finds_formats_engines_regions_and_terms(catalog: Catalog) -> None:
    for table, word in [
        ("formats", "nvfp4"),
        ("engines", "vllm"),
        ("regions", "sa-east-1"),
        ("billing", "capacity-block"),
    ]:
        assert (table, word) in {entry[:2] for entry in catalog.search(word)}


def test_every_model_and_alias_is_found_whatever_the_case(catalog: Catalog) -> None:
    for model in catalog.models():
        assert catalog.model(model.id.upper()) == model
    for alias in catalog.aliases():
        assert catalog.model(alias.alias.lower()).id == alias.model_id


def test_an_ending_never_changes_the_architecture(catalog: Catalog) -> None:
    """Where the longer name is catalogued itself, that row wins."""
    ids = {model.id.lower() for model in catalog.models()}
    for model in catalog.models():
        for ending in catalog.suffixes():
            name = model.id + ending.suffix
            if name.lower() not in ids:
                assert catalog.model(name).total_params == model.total_params, name


def test_what_is_handed_out_cannot_be_changed(catalog: Catalog) -> None:
    with pytest.raises(TypeError):
        catalog.offerings("us-east-1")["x"] = None  # type: ignore[index]
    with pytest.raises(AttributeError):
        catalog.gpu("H100").usable_bytes = 1  # type: ignore[misc]


def test_engine_tables_are_looked_up_by_their_words(catalog: Catalog) -> None:
    assert "vllm" in catalog.engine_names()
    assert all(row.engine == "vllm" for row in catalog.engines("vllm"))
    formats = [form.id for form in catalog.formats()]
    assert [row.format for row in catalog.kernels("awq", "vllm")] != []
    assert all((form := catalog.format(one)) and form.id == one for one in formats)
