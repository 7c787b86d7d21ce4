"""What a fit says of its figures, and which sizer is asked for what."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from gpusize.memory import alone
from gpusize.memory.fit import Sizing
from gpusize.memory.kv_cache import LAYOUTS, Packing
from gpusize.memory.kv_costs import Cost
from gpusize.memory.result import Fit, Output, Term, Verdict, unknown
from gpusize.placement import Layout
from gpusize.workload import parse_workload
from gpusize_catalog.facts import Interconnect
from gpusize_catalog.units import GIB, MIB

CACHE = LAYOUTS["paged"]((Cost(1, None, 0, 1),), Packing(16, 1.0, 0))
"""One byte for each token, in blocks of 16."""
FIT = Fit(
    verdict=Verdict.FITS,
    reasons=(),
    terms=((Term.WEIGHTS, 700), (Term.KV_CACHE, 160)),
    need=860,
    budget=1000,
    band=10,
    kv_pool=300,
    context_length=160,
    limit=4000,
    cache=CACHE,
    dp=1,
    assumptions=(),
    constants=(),
)


@pytest.mark.parametrize(
    ("band", "word"),
    [(0, "high"), (10, "high"), (11, "medium"), (25, "medium"), (26, "low"), (900, "low")],
)
def test_confidence_changes_at_one_and_two_and_a_half_percent(band, word):
    assert FIT._replace(band=band).confidence == word


def test_what_is_not_known_has_no_figures():
    for blank in (FIT._replace(budget=None), FIT._replace(need=None), FIT._replace(budget=0)):
        assert blank.confidence is None
    assert FIT._replace(budget=None).margin is None
    assert FIT._replace(need=None).margin is None
    assert FIT._replace(budget=0).margin == -860
    for blank in (FIT._replace(cache=None), FIT._replace(kv_pool=None)):
        assert blank.sequences is None
        assert blank.sequences_at(16) is None
        assert blank.longest_context is None


def test_sequences_and_contexts_are_those_of_the_pool():
    """300 bytes are 18 blocks, of which a context of 160 takes ten."""
    assert FIT.sequences == 1.8
    assert FIT.sequences_at(160) == 1
    assert FIT.sequences_at(16) == 18
    assert FIT.longest_context == 288
    copies = FIT._replace(dp=4)
    assert copies.sequences == 7.2
    assert copies.sequences_at(160) == 4, "a sequence lies on one of them"
    assert FIT._replace(limit=200).longest_context == 200
    assert FIT._replace(kv_pool=0).longest_context == 0
    assert FIT._replace(kv_pool=16).longest_context == 16
    assert FIT._replace(kv_pool=-5).longest_context == 0


def test_terms_and_margin():
    assert FIT.margin == 140
    assert (FIT.term(Term.WEIGHTS), FIT.term(Term.GRADIENTS)) == (700, 0)
    assert (FIT.sharding, FIT.host, FIT.output, FIT.saved) == ("", 0, None, None)
    assert (FIT.host_activations, FIT.running, FIT.state_block) == (0, 0, 0)


def test_an_unknown_fit_says_why_and_what_was_taken():
    blank = unknown(("because",), 100, (), ("row",))
    assert (blank.verdict, blank.reasons) == (Verdict.UNKNOWN, ("because",))
    assert (blank.context_length, blank.limit, blank.constants) == (100, 100, ("row",))
    assert (blank.terms, blank.band, blank.dp, blank.cache) == ((), 0, 1, None)
    assert unknown(()).context_length == 0


# One process of PyTorch


def test_a_process_takes_its_context_and_a_reserve():
    assert alone.overhead(0) == 600 * MIB
    assert alone.overhead(1000) == 600 * MIB + 50


@pytest.mark.parametrize(
    ("need", "verdict", "words"),
    [
        (85 * GIB + 1, Verdict.DOES_NOT_FIT, "stage: 5.0 GiB more than the 80.0 GiB of the GPU"),
        (85 * GIB, Verdict.TIGHT, "needs 5.0 GiB more, which lies within the error of 5.0 GiB"),
        (80 * GIB + 1, Verdict.TIGHT, "within the error of 5.0 GiB"),
        (80 * GIB, Verdict.TIGHT, "only 0.0 GiB of 80.0 GiB are left"),
        (75 * GIB + 1, Verdict.TIGHT, "only 5.0 GiB of 80.0 GiB are left"),
        (75 * GIB, Verdict.FITS, ""),
    ],
)
def test_verdicts_change_at_the_error_and_the_headroom(need, verdict, words):
    found, reasons = alone.judge("stage", 80 * GIB, need, 5 * GIB)
    assert found is verdict
    assert words in " ".join(reasons)
    assert len(reasons) == (verdict is not Verdict.FITS)


def test_a_fit_without_sequences_carries_what_it_is_given():
    peak = alone.Peak("stage", ((Term.WEIGHTS, 5 * GIB),), 5 * GIB, 7)
    output = Output("stage", 1, 2, 3, 4)
    found = alone.fit_of(peak, 80 * GIB, Layout(dp=4), [], ("row",), output, context=9, host=11)
    assert (found.verdict, found.need, found.budget, found.band) == (
        Verdict.FITS,
        5 * GIB,
        80 * GIB,
        7,
    )
    assert (found.context_length, found.limit, found.dp, found.host) == (9, 9, 4, 11)
    assert (found.kv_pool, found.cache, found.output) == (None, None, output)
    plain = alone.fit_of(peak, 80 * GIB, Layout(), [], (), output)
    assert (plain.context_length, plain.host, plain.sharding) == (0, 0, "")


@pytest.mark.parametrize("largest", [0, 1, 2, 7, 99, 100])
@pytest.mark.parametrize("limit", [1, 2, 7, 100])
def test_the_most_that_holds_is_found(largest, limit):
    asked: list[int] = []

    def holds(count: int) -> bool:
        asked.append(count)
        return count <= largest

    assert alone.most(limit, holds) == min(largest, limit)
    assert all(0 < count <= limit for count in asked)
    assert len(asked) <= 7


# Which sizer


@pytest.fixture
def sizing(catalog):
    """The sizing of a workload by its kind and modality, with a sizer that answers in numbers."""

    def build(kind="serving", problems=(), neighbors=(), **fields):
        from gpusize.architecture import architecture_of

        raw = {"kind": kind, "model": "Qwen/Qwen2.5-0.5B", "region": "us-east-1", **fields}
        if kind == "serving":
            raw.setdefault("contextLength", 8192)
        raw["neighbors"] = [{"name": "one", "memoryGib": size} for size in neighbors]
        workload = parse_workload(raw)
        found = Sizing(workload, architecture_of(workload.model, catalog), catalog)
        found.sizer.problems.extend(problems)
        return found

    return build


class Asked:
    """A sizer that keeps what it is asked."""

    assumptions: tuple = ()
    constants = ("row",)

    def __init__(self, floor=5 * GIB, problems=(), verdict=Verdict.FITS) -> None:
        self.devices: list = []
        self.problems, self.verdict, self._floor = list(problems), verdict, floor

    def measure(self, device, _layout) -> Fit:
        self.devices.append(device)
        return FIT._replace(verdict=self.verdict, reasons=("odd",))

    def floor(self, _layout) -> int:
        return self._floor


def asked(sizing, sizer: Asked, neighbors=()) -> Sizing:
    sizing.sizer, sizing.neighbors = sizer, neighbors
    return sizing


def test_work_is_hopeless_above_the_floor(sizing, place):
    placement = place("g6.xlarge")
    usable = placement.usable_bytes
    for floor, hopeless in ((usable, False), (usable + 1, True)):
        found = asked(sizing(), Asked(floor))
        assert found.is_hopeless(placement) is hopeless
        assert found.floor(placement.layout) == floor
    assert not asked(sizing(), Asked(usable + 1, ["odd"])).is_hopeless(placement)
    blank = placement._replace(gpu=placement.gpu._replace(usable_bytes=None))
    assert not asked(sizing(), Asked(usable + 1)).is_hopeless(blank)
    without = asked(sizing(), None)
    assert not without.is_hopeless(placement)
    assert without.floor(placement.layout) == without.least == 0


def test_neighbors_are_taken_off_but_one_byte_is_left(sizing, place):
    placement = place("g6.xlarge")
    around = [SimpleNamespace(memory_gib=4, memory_fraction=None)]
    sizer = Asked()
    asked(sizing(), sizer, around).fit(placement)
    assert sizer.devices[0].usable == placement.usable_bytes - 4 * GIB
    around[0].memory_gib = 100
    asked(sizing(), sizer, around).fit(placement)
    assert sizer.devices[1].usable == 1


def test_engines_know_their_neighbors_themselves(sizing):
    assert sizing(neighbors=(4,)).neighbors == ()
    run = {"kind": "fine-tuning", "method": "qlora", "sequenceLength": 1024}
    assert len(sizing(neighbors=(4,), **run).neighbors) == 1


@pytest.mark.parametrize(
    ("link", "nvlink"), [("nvlink", True), ("nvswitch", True), ("pcie", False), ("none", False)]
)
def test_only_nvlink_is_beside_the_host(sizing, place, link, nvlink):
    placement = place("g6.xlarge")
    joined = placement._replace(instance=placement.instance._replace(interconnect=_link(link)))
    sizer = Asked()
    asked(sizing(), sizer).fit(joined)
    assert sizer.devices[0].nvlink is nvlink


def _link(word: str) -> Interconnect | SimpleNamespace:
    known = {one.value: one for one in Interconnect}
    return known.get(word, SimpleNamespace(value=word))


def test_what_a_sizer_does_not_know_is_said_with_its_constants(sizing, place):
    found = asked(sizing(), Asked(verdict=Verdict.UNKNOWN)).fit(place("g6.xlarge"))
    assert (found.verdict, found.reasons) == (Verdict.UNKNOWN, ("odd",))
    assert (found.need, found.constants, found.context_length) == (None, ("row",), 8192)
    problems = asked(sizing(), Asked(problems=["a", "b"])).fit(place("g6.xlarge"))
    assert problems.reasons == ("a", "b")


def test_lengths_are_those_of_the_kind(sizing):
    assert sizing().context_length == 8192
    run = {"kind": "fine-tuning", "method": "lora", "sequenceLength": 1024}
    assert sizing(**run).context_length == 1024


def test_what_all_gpus_hold_together_is_asked_of_sizers_that_can_say(sizing):
    served = sizing()
    assert served.least == served.sizer.least() > 0
    run = sizing(kind="fine-tuning", method="full", sequenceLength=1024)
    assert run.least == run.sizer.least() > 0
    assert sizing(problems=["odd"]).least == 0
    assert asked(sizing(), Asked()).least == 0


def test_a_run_may_fit_where_its_states_do(sizing, place):
    run = sizing(kind="fine-tuning", method="full", sequenceLength=1024)
    placement = place("g6.xlarge")
    states = run.sizer.states(placement.layout)
    for usable, may in ((states, True), (states - 1, False), (None, True)):
        gpu = placement.gpu._replace(usable_bytes=usable)
        assert run.may_fit(placement._replace(gpu=gpu)) is may
    assert sizing().may_fit(placement)
    small = placement._replace(gpu=placement.gpu._replace(usable_bytes=1))
    assert sizing().may_fit(small), "only training runs are told by their states"
    odd = sizing(kind="fine-tuning", method="full", sequenceLength=1024, problems=["odd"])
    assert odd.may_fit(small)
