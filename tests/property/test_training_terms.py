"""Laws of each term of a training run, over models and layouts that nobody published."""

from __future__ import annotations

from functools import cache
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from gpusize.architecture import Architecture
from gpusize.memory.result import Verdict
from gpusize.memory.runtime import Device
from gpusize.memory.training import activations, parts, recipe, vision
from gpusize.memory.training.adapters import adapter_params
from gpusize.memory.training.kept import Kept
from gpusize.memory.training.setup import Habits
from gpusize.memory.training.sharing import WHOLE
from gpusize.memory.training.sizer import Training
from gpusize.memory.weights import Stage, stages
from gpusize.placement import Layout
from gpusize.workload import AdapterTargets, Images
from gpusize_catalog.store import Catalog, load
from tests.unit.memory.training.small import (
    AGATE,
    BF16,
    GRAVEL,
    PACKED,
    PEBBLE,
    declared,
    kept,
    setup,
)

MODES = ("none", "ddp", "zero-1", "zero-2", "zero-3", "fsdp")
RECOMPUTE = ("none", "selective", "full")
GIB = 2**30


@cache
def catalog() -> Catalog:
    return load()


@st.composite
def models(draw: st.DrawFn) -> Architecture:
    """A model of whole parts: dense, of experts, tied, with a tower."""
    base = draw(st.sampled_from([PEBBLE, GRAVEL, AGATE]))
    hidden, vocab = draw(st.integers(8, 64)) * 8, draw(st.integers(10, 2_000))
    tied = draw(st.booleans())
    table = hidden * vocab
    split = {
        "embedding_params": table,
        "head_params": 0 if tied else table,
        "linear_params": base.layers * draw(st.integers(1_000, 10**6)),
        "expert_params": base.layers * draw(st.integers(100, 10**6)) if base is GRAVEL else 0,
        "other_params": (base.vision_params or 0) + draw(st.integers(0, 10_000)),
    }
    return base._replace(
        hidden=hidden,
        vocab=vocab,
        tie_embeddings=tied,
        intermediate=draw(st.integers(1, 2_000)),
        total_params=sum(split.values()),
        **split,
    )


def all_of(model: Architecture) -> Stage:
    return Stage(model.layers, first=True, last=True)


def step(
    model: Architecture,
    recompute: str = "none",
    loss: str = "plain",
    share: activations.Share | None = None,
    offloads: bool = False,
    frozen: bool = False,
    spare: float = 0.0,
    **more: Any,
) -> activations.Step:
    share = share or activations.Share(model.layers, 1, 1, 1, last=True)
    known = setup(habits=Habits(recompute, loss, offloads))
    return activations.step_of(declared(**more), model, known, share, frozen=frozen, spare=spare)


@given(model=models(), tp=st.sampled_from([1, 2, 4]), pp=st.integers(1, 5))
def test_ranks_hold_a_model_once_and_norms_and_tied_heads_again(
    model: Architecture, tp: int, pp: int
) -> None:
    held = [parts.of_rank(model, Layout(tp=tp, pp=pp), stage) for stage in stages(model.layers, pp)]
    cut = sum(tp * (one.ends + one.linear + one.expert) + one.other + one.tower for one in held)
    again = model.embedding_params if model.tie_embeddings and pp > 1 else 0
    assert abs(cut - model.total_params - again) < 1e-6 * cut


@given(model=models(), bits=st.tuples(*[st.integers(2, 32)] * 4))
def test_weights_are_as_wide_as_their_parts(model: Architecture, bits: tuple[int, ...]) -> None:
    linear, expert, embedding, other = bits
    form = BF16._replace(
        linear_bits=linear, expert_bits=expert, embedding_bits=embedding, other_bits=other
    )
    held = parts.of_rank(model, Layout(), all_of(model))
    size = held.bytes_in(form)
    assert held.total * min(bits) <= 8 * size <= held.total * max(bits)
    assert held.bytes_in(BF16) == 2 * held.total


@given(
    name=st.sampled_from(sorted(recipe.BY_NAME)),
    optimizer=st.sampled_from(sorted(recipe.MOMENTS)),
    master=st.sampled_from([None, False, True]),
    gradients=st.sampled_from([None, "fp32", "bf16"]),
)
def test_a_parameter_keeps_whole_numbers_of_it(
    name: str, optimizer: str, master: bool | None, gradients: str | None
) -> None:
    more = {"masterWeights": master, "gradientPrecision": gradients}
    told = {field: value for field, value in more.items() if value is not None}
    made = recipe.named(declared(optimizer=optimizer, **told), name)
    adam = recipe.named(declared(**told), name)
    assert made.weight in (2, 4)
    assert made.gradient in (2, 4)
    assert made.master in (0, 4)
    assert 0 <= made.moments <= adam.moments
    assert made.total == made.weight + made.master + made.gradient + made.moments
    if master:
        assert made.weight + made.master == 6


@given(model=models(), rank=st.integers(1, 64), tp=st.sampled_from([1, 2, 4]))
def test_adapters_grow_with_rank_and_targets(model: Architecture, rank: int, tp: int) -> None:
    order = (
        AdapterTargets.QUERY_VALUE,
        AdapterTargets.ATTENTION,
        AdapterTargets.DENSE_LINEAR,
        AdapterTargets.ALL_LINEAR,
    )
    sizes = [sum(adapter_params(model, rank, word, tp)) for word in order]
    assert sizes == sorted(sizes)
    assert sizes[0] > 0
    for word, size in zip(order, sizes, strict=True):
        assert sum(adapter_params(model, 3 * rank, word, tp)) == 3 * size
        whole = sum(adapter_params(model, rank, word, 1))
        assert whole / tp <= size <= whole


@given(
    model=models(),
    mode=st.sampled_from(MODES),
    copies=st.sampled_from([1, 2, 8]),
    optimizer=st.sampled_from(sorted(recipe.MOMENTS)),
    method=st.sampled_from(["full", "lora"]),
)
def test_copies_that_share_hold_a_thing_once(
    model: Architecture, mode: str, copies: int, optimizer: str, method: str
) -> None:
    """All ranks together keep as much as one that shares nothing, or as many times as copies."""
    same = setup(method, zero_recipe="pure", fsdp_recipe="pure", live_params=10, bucket_params=10)
    one = kept(same, mode, model, optimizer=optimizer)
    many = kept(same, mode, model, layout={"dp": copies}, optimizer=optimizer)
    ways = {
        "weights": mode in WHOLE,
        "gradients": mode in WHOLE or mode == "zero-2",
        "states": mode.startswith("zero") or mode == "fsdp",
    }
    for name, is_shared in ways.items():
        held, whole = getattr(many, name), getattr(one, name)
        assert abs(held * (copies if is_shared else 1) - whole) <= 1e-9 * whole
    assert many.host * (copies if ways["states"] else 1) == one.host


@given(model=models(), live=st.sampled_from([0, 100, 10**9]), mode=st.sampled_from(MODES))
def test_what_is_gathered_is_bound_by_the_model(model: Architecture, live: int, mode: str) -> None:
    """Twice all weights, three buckets of them, and fp32 gradients: 2 x 2 + 3 x 2 + 4 bytes."""
    known = setup(live_params=live, bucket_params=live)
    found = kept(known, mode, model, layout={"dp": 4})
    assert 0 <= found.gathered <= 14 * model.total_params
    assert 0 <= found.step_copy <= 4 * model.total_params
    assert found.held >= found.weights + found.gradients + found.states


@given(model=models(), mode=st.sampled_from(["zero-3", "fsdp"]), copies=st.sampled_from([2, 8]))
def test_offloading_moves_bytes_and_loses_none(model: Architecture, mode: str, copies: int) -> None:
    found: dict[str, Kept] = {}
    for offload in ("none", "optimizer", "all"):
        sharding = {"mode": mode, "offload": offload}
        found[offload] = kept(setup(), mode, model, layout={"dp": copies}, sharding=sharding)
    sums = [one.weights + one.gradients + one.states + one.host for one in found.values()]
    assert max(sums) - min(sums) <= 1e-9 * max(sums)
    assert found["optimizer"].states == found["all"].held - found["all"].gathered == 0
    assert len({one.saved for one in found.values()}) == 1


@given(model=models(), eager=st.booleans(), tokens=st.integers(1, 5_000), frozen=st.booleans())
def test_recomputing_more_keeps_less_and_holds_a_layer_at_the_end(
    model: Architecture, eager: bool, tokens: int, frozen: bool
) -> None:
    more = {"attention": "eager"} if eager else {}
    steps = [step(model, word, frozen=frozen, **more) for word in RECOMPUTE]
    assert len({(one.last, one.last_scores, one.logits) for one in steps}) == 1
    sizes = [one.kept + one.kept_scores * tokens for one in steps]
    assert sizes == sorted(sizes, reverse=True)
    assert steps[-1].kept == 2 * model.hidden * model.layers
    assert step(model, frozen=True, **more).kept < step(model, **more).kept


@given(
    model=models(),
    tp=st.sampled_from([1, 2, 4]),
    cp=st.sampled_from([1, 2, 4]),
    in_flight=st.integers(1, 8),
    recompute=st.sampled_from(RECOMPUTE),
)
def test_ranks_divide_what_a_step_keeps_and_stages_in_flight_repeat_it(
    model: Architecture, tp: int, cp: int, in_flight: int, recompute: str
) -> None:
    one = step(model, recompute, attention="eager")
    share = activations.Share(model.layers, tp, cp, in_flight, last=True)
    many = step(model, recompute, share=share, attention="eager")
    factor = in_flight / (tp * cp)
    assert abs(many.kept - one.kept * factor) <= 1e-9 * one.kept * factor
    assert abs(many.kept_scores - one.kept_scores * factor) <= 1e-9 * one.kept_scores * factor
    assert one.logits / (tp * cp) <= many.logits <= (one.logits + 9 * tp) / (tp * cp)
    assert many.last >= one.last / (tp * cp)


@given(model=models(), loss=st.sampled_from(["plain", "chunked", "fused"]))
def test_losses_hold_less_the_more_they_are_fused(model: Architecture, loss: str) -> None:
    plain = step(model).logits
    assert plain >= 9 * model.vocab
    assert step(model, loss=loss).logits <= plain
    assert step(model, loss="fused").logits < step(model, loss="chunked").logits < plain
    share = activations.Share(model.layers, 1, 1, 1, last=False)
    assert step(model, loss=loss, share=share).logits == 0


@given(model=models(), layers=st.integers(1, 5), in_flight=st.integers(1, 6))
def test_offloaded_inputs_are_here_or_in_the_host(
    model: Architecture, layers: int, in_flight: int
) -> None:
    share = activations.Share(layers, 1, 1, in_flight, last=True)
    here = step(model, "full", share=share)
    moved = step(model, "full", share=share, offloads=True)
    assert moved.kept + moved.offloaded == here.kept
    assert moved.kept == 2 * model.hidden * min(2, layers * in_flight)


@given(
    model=models(),
    pool=st.integers(0, 10**9),
    tokens=st.integers(1, 2_000),
    spare=st.sampled_from([0.0, 10**6]),
    recompute=st.sampled_from(RECOMPUTE),
)
def test_what_a_pool_is_said_to_hold_it_holds(
    model: Architecture, pool: int, tokens: int, spare: float, recompute: str
) -> None:
    found = step(model, recompute, spare=spare, attention="eager")
    samples = int(found.sequences_in(pool, tokens))
    if samples:
        assert found.bytes_for(tokens, samples) <= pool + 1
    assert found.bytes_for(tokens, samples + 1) >= pool
    longest = found.longest(pool, tokens)
    if longest:
        assert found.bytes_for(longest) <= pool
    if longest < tokens:
        assert found.bytes_for(longest + 1) > pool
    assert found.logits_for(tokens, 1) <= max(found.logits * tokens, 0) + 1


@given(
    pp=st.integers(1, 5),
    dp=st.integers(1, 4),
    batch=st.one_of(st.none(), st.integers(1, 64)),
    micro=st.integers(1, 4),
)
def test_earlier_stages_have_more_micro_batches_in_flight(
    pp: int, dp: int, batch: int | None, micro: int
) -> None:
    whole = None if batch is None else batch * micro
    workload = declared(microBatch=micro, **({} if whole is None else {"globalBatch": whole}))
    run = Training(workload, GRAVEL, catalog())
    layout = Layout(pp=pp, dp=dp)
    counts = [run._in_flight(layout, stage) for stage in stages(5, pp)]
    assert counts == sorted(counts, reverse=True)
    assert counts[-1] == 1
    assert 1 <= counts[0] <= pp
    if whole is not None:
        assert counts[0] <= max(1, whole // (micro * dp))


@given(
    count=st.integers(1, 9),
    width=st.integers(1, 4_000),
    height=st.integers(1, 4_000),
    recompute=st.sampled_from(RECOMPUTE),
)
def test_images_take_as_much_as_their_patches(
    count: int, width: int, height: int, recompute: str
) -> None:
    one = Images(width=width, height=height)
    several = Images(per_prompt=count, width=width, height=height)
    single = vision.pictures(AGATE, one, trained=True, recompute=recompute)
    many = vision.pictures(AGATE, several, trained=True, recompute=recompute)
    assert many == (count * single.kept, count * single.forward)
    frozen = vision.pictures(AGATE, several, trained=False, recompute=recompute)
    assert frozen == (0, many.forward)
    tiles = vision.patches(AGATE, one)
    assert 1 <= tiles <= 1_000
    assert tiles == 1_000 or width * height <= tiles * 14 * 14


@given(
    model=models(),
    sizes=st.tuples(st.sampled_from([1, 2]), st.sampled_from([1, 2]), st.integers(1, 4)),
    form=st.sampled_from([BF16, PACKED]),
)
def test_bounds_lie_below_the_need_and_the_verdict_follows_the_memory(
    model: Architecture, sizes: tuple[int, int, int], form: Any
) -> None:
    layout = Layout(*sizes)
    method = "full" if form is BF16 else "lora"
    run = Training(declared(method=method), model, catalog())
    run.setup = setup(method, form=form)
    fits = [
        run.measure(Device(usable, None, nvlink=False), layout)
        for usable in (GIB // 16, GIB // 2, 2 * GIB, 40 * GIB)
    ]
    order = [Verdict.DOES_NOT_FIT, Verdict.TIGHT, Verdict.FITS]
    verdicts = [order.index(found.verdict) for found in fits]
    assert verdicts == sorted(verdicts)
    assert verdicts[-1] == 2
    need = fits[0].need or 0
    assert run.floor(layout) <= run.states(layout) <= need
    assert run.least() <= layout.gpus * need
    for found in fits:
        assert abs(sum(size for _, size in found.terms) - (found.need or 0)) <= len(found.terms)
        assert 0 < found.band < (found.need or 0)
