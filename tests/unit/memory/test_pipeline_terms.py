"""Every term of a pipeline that makes pictures or sound, counted by hand."""

from __future__ import annotations

import pytest

from gpusize.memory.diffusion import activations, sound, stages, weights
from gpusize.memory.diffusion.largest import largest
from gpusize.pipeline import PipelineFacts
from gpusize.workload import PipelineOffload
from tests.unit.memory.pipeline_toys import (
    CLIP,
    CODEC,
    DENOISER,
    GENERATOR,
    JOB,
    PATCHES,
    PIPELINE,
    T5,
    UNET,
    VAE,
    part,
)

TOKENS = PATCHES + 50
NONE, MODEL, LAYERS = (
    PipelineOffload.NONE,
    PipelineOffload.MODEL,
    PipelineOffload.SEQUENTIAL,
)


# Tokens


@pytest.mark.parametrize(
    ("changes", "count"),
    [
        ({}, 60),
        ({"width": 161}, 11 * 6),
        ({"width": 176}, 11 * 6),
        ({"height": 97}, 10 * 7),
        ({"frames": 2}, 60),
        ({"frames": 4}, 60),
        ({"frames": 5}, 120),
        ({"frames": 49}, 13 * 60),
        ({"batch": 5}, 60),
    ],
)
def test_tokens_are_patches_and_text(changes, count):
    assert activations.tokens(DENOISER, VAE, JOB._replace(**changes)) == count + 50


def test_patches_of_frames_are_rounded_up():
    deep = DENOISER._replace(patch_frames=2)
    frames = [activations.tokens(deep, VAE, JOB._replace(frames=count)) for count in (1, 5, 9)]
    assert frames == [110, 110, 170]


def test_what_is_not_told_of_a_part_counts_nothing_or_once():
    bare = part("transformer", hidden=100)
    plain = part("vae", decoder_kind="2d")
    assert activations.tokens(bare, plain, JOB) == 160 * 96
    assert activations.tokens(bare, plain, JOB._replace(frames=3)) == 3 * 160 * 96
    job = JOB._replace(batch=3)
    assert activations.denoise_bytes(bare, plain, job) == 18 * 3 * 160 * 96 * 100 * 2
    assert activations.denoise_bytes(part("transformer"), plain, job) == 0
    shown = 2 * 3 * 160 * 96 * 3 * 2
    assert activations.decode_bytes(plain, job) == shown
    assert activations.decode_bytes(VAE._replace(decoder_shrink=None), job) == (
        activations.decode_bytes(VAE, job)
    )
    made = part("generator")
    assert sound.generate_bytes(made, JOB) == 0
    rows = GENERATOR._replace(text_tokens=5, positions=None)
    assert sound.generate_bytes(rows, JOB) == sound.generate_bytes(
        rows._replace(rows_per_sample=1, eager_heads=0), JOB
    )


# The denoiser


def test_a_step_keeps_eighteen_tensors_of_every_token():
    def of(denoiser=DENOISER, **changes) -> int:
        return activations.denoise_bytes(denoiser, VAE, JOB._replace(**changes))

    each = TOKENS * 100 * 2
    assert of() == 18 * each
    assert of(batch=3) == 3 * 18 * each
    assert of(DENOISER._replace(rows_per_sample=2)) == 2 * 18 * each
    assert of(precision="fp32") == 2 * 18 * each
    assert of(DENOISER._replace(stream_bits=32)) == 22 * 2 * each
    assert of(DENOISER._replace(stream_bits=8)) == 18 * each
    assert of(DENOISER._replace(stream_bits=None)) == 18 * each
    assert of(int8_products=True) == 2 * 18 * each
    assert of(sharing=4) == 18 * 28 * 100 * 2, "a quarter of 110 tokens, rounded up"
    unet = (240 + 50) * 100 * 2
    assert of(UNET) == of(UNET, int8_products=True) == 18 * unet


# The decoder


@pytest.mark.parametrize(
    ("kind", "tensors"),
    [("2d", 4), ("causal-3d", 6.5), ("conditioned-3d", 9), ("residual-3d", 10)],
)
def test_a_decoder_keeps_tensors_of_its_widest_layer_by_its_kind(kind, tensors):
    pixels = 160 * 96
    decoder = VAE._replace(decoder_kind=kind)
    assert activations.decode_bytes(decoder, JOB) == pixels * (16 * tensors * 2 + 2 * 3 * 2)


def test_a_decoder_works_on_what_it_decodes_at_once():
    pixels = 160 * 96

    def of(vae=VAE, **changes) -> int:
        return activations.decode_bytes(vae, JOB._replace(**changes))

    wide, shown = 16 * 4 * 2, 2 * 3 * 2
    assert of() == pixels * (wide + shown)
    assert of(batch=3) == 3 * pixels * (wide + shown)
    assert of(batch=3, slicing=True) == pixels * (wide + 3 * shown)
    assert of(frames=9) == 9 * pixels * (wide + shown)
    few = VAE._replace(decoded_frames=4)
    assert of(few, frames=9) == pixels * (4 * wide + 9 * shown)
    assert of(few, frames=2) == 2 * pixels * (wide + shown)
    tiles = VAE._replace(tile_pixels=1000)
    assert of(tiles) == pixels * (wide + shown)
    assert of(tiles, tiling=True) == 1000 * wide + pixels * shown
    assert of(VAE, tiling=True) == of()
    assert of(VAE._replace(tile_pixels=10**9), tiling=True) == of()
    assert of(VAE._replace(decoder_shrink=2)) == pixels // 4 * wide + pixels * shown
    assert of(decoder="fp32") == 2 * of()
    assert of(precision="fp32", decoder="bf16") == of()


@pytest.mark.parametrize(
    ("upcasts", "precision", "declared", "number"),
    [
        (True, "fp16", "", 4),
        (True, "fp16", "fp16", 2),
        (True, "bf16", "", 2),
        (False, "fp16", "", 2),
        (None, "fp16", "", 2),
        (False, "fp32", "", 4),
        (False, "fp32", "bf16", 2),
    ],
)
def test_a_decoder_computes_as_told_or_wide_where_fp16_overflows(
    upcasts, precision, declared, number
):
    job = JOB._replace(precision=precision, decoder=declared)
    assert weights.decoder_number(VAE._replace(upcasts_fp16=upcasts), job) == number


# Sound


def test_latents_are_those_of_the_clip_or_of_every_clip():
    """24,000 samples a second, 320 of them a latent."""
    assert sound.latents(DENOISER, CODEC, 2.0) == 150
    assert sound.latents(DENOISER, CODEC, 2.001) == 151
    assert sound.latents(DENOISER._replace(latents=1024), CODEC, 2.0) == 1024
    assert sound.latents(DENOISER, CODEC._replace(scale=None), 2.0) == 48_000
    assert sound.latents(DENOISER, CODEC._replace(sample_rate=None), 2.0) == 0
    job = JOB._replace(seconds=2.0)
    assert activations.tokens(DENOISER, CODEC, job) == 75 + 50
    assert activations.tokens(DENOISER, CODEC, job._replace(seconds=2.001)) == 76 + 50
    assert sound.tokens(part("transformer"), CODEC, 2.0) == 150


def made(rows=1, number=2, *, kept: int, read: int, heads=0) -> int:
    """A cache of 6 layers and one that grows, ten tensors of a pass and its scores."""
    return rows * number * (7 * 2 * 64 * kept + 10 * 64 * read + 3 * heads * read**2)


def test_a_generator_keeps_every_token_and_reads_its_prompt():
    clip = JOB._replace(seconds=2.01)
    assert sound.generate_bytes(GENERATOR, clip) == made(kept=101, read=1)
    prompt = GENERATOR._replace(text_tokens=20)
    assert sound.generate_bytes(prompt, clip) == made(kept=121, read=20)
    eager = prompt._replace(eager_heads=4)
    assert sound.generate_bytes(eager, clip) == made(kept=121, read=20, heads=4)
    guided = GENERATOR._replace(rows_per_sample=2)
    batch = clip._replace(batch=3, precision="fp32")
    assert sound.generate_bytes(guided, batch) == made(6, 4, kept=101, read=1)


def test_a_window_that_slides_is_read_whole():
    clip = JOB._replace(seconds=2.0)
    slides = GENERATOR._replace(positions=80)
    assert sound.generate_bytes(slides, clip) == made(kept=80, read=80)
    assert sound.generate_bytes(slides, clip._replace(seconds=1.0)) == made(kept=50, read=50)
    told = slides._replace(text_tokens=20)
    assert sound.generate_bytes(told, clip) == made(kept=80, read=20)


def test_a_part_that_fills_in_reads_every_position_and_keeps_none():
    fills = GENERATOR._replace(tokens_per_second=None, positions=90)
    assert sound.generate_bytes(fills, JOB) == made(kept=0, read=90)


def test_a_decoder_of_sound_keeps_four_tensors_of_its_samples():
    def of(count=150, number=2, decoder=CODEC, **changes) -> int:
        return sound.decode_bytes(decoder, JOB._replace(**changes), count, number)

    each = 4 * 320 * 32 * 2
    assert of() == 150 * each
    assert of(number=4) == 2 * of()
    assert of(batch=3) == 3 * of()
    assert of(batch=3, slicing=True) == of()
    tiles = CODEC._replace(tile_latents=40)
    assert of(decoder=tiles) == of()
    assert of(decoder=tiles, tiling=True) == 40 * each
    assert of(20, decoder=tiles, tiling=True) == 20 * each
    assert of(tiling=True) == of()
    assert of(decoder=CODEC._replace(scale=None)) == 150 * each // 320
    assert of(decoder=CODEC._replace(decoder_width=None)) == 0


def test_the_longest_clip_is_the_limit_or_whole_seconds():
    assert sound.longest(30.5, lambda _: True) == 30.5
    assert sound.longest(30.5, lambda length: length <= 30.4) == 30
    assert sound.longest(30.5, lambda length: length < 17) == 16
    assert sound.longest(None, lambda _: True) == 600
    assert sound.longest(None, lambda length: length <= 599) == 599
    assert sound.longest(47, lambda _: False) == 0


def test_pictures_and_sound_go_to_their_own_terms():
    clip = JOB._replace(seconds=2.0)
    assert activations.work_bytes(GENERATOR, CODEC, clip) == sound.generate_bytes(GENERATOR, clip)
    assert activations.work_bytes(DENOISER, VAE, JOB) == 18 * TOKENS * 200
    assert activations.result_bytes(VAE, DENOISER, JOB) == activations.decode_bytes(VAE, JOB)
    assert activations.result_bytes(CODEC, GENERATOR, clip) == 150 * 4 * 320 * 32 * 2
    wide = clip._replace(decoder="fp32")
    assert activations.result_bytes(CODEC, GENERATOR, wide) == 150 * 4 * 320 * 32 * 4


# Weights


def test_quantized_parts_keep_a_share_as_it_was(form):
    assert weights.part_bytes(1_000_000, form("bf16"), 2) == 2_000_000
    assert weights.part_bytes(1_000_000, form("fp32"), 2) == 4_000_000
    four = form("nf4")._replace(linear_bits=4)
    assert weights.part_bytes(1_000_000, four, 2) == 15_000 * 2 + 985_000 // 2
    assert weights.part_bytes(1_000_000, four, 4) == 15_000 * 4 + 985_000 // 2


@pytest.fixture
def held(form):
    """Weights of the toy pipeline; words are formats of the denoiser and of the encoders."""

    def build(denoiser="bf16", encoder="bf16", pipeline=PIPELINE, **changes) -> weights.Weights:
        job = JOB._replace(**changes)
        return weights.weights_of(pipeline, job, form(denoiser), form(encoder))

    return build


def test_components_are_in_formats_of_their_own(held, form):
    assert held() == ((600_000, 1_800_000), (8_000_000,), 160_000, 0)
    assert held().total == 10_560_000
    assert held("fp32").denoisers == (16_000_000,)
    assert held(encoder="fp32").encoders == (1_200_000, 3_600_000)
    assert held(decoder="fp32").decoder == 320_000
    assert held(precision="fp32", denoiser="int8").decoder == 320_000
    assert held("int8").denoisers == (weights.part_bytes(4_000_000, form("int8"), 2),)


def test_modules_of_bitsandbytes_stay_where_they_are(held, form):
    word = "int8-bitsandbytes"
    eight = form(word)
    denoiser = weights.part_bytes(4_000_000, eight, 2)
    encoders = [weights.part_bytes(size, eight, 2) for size in (300_000, 900_000)]
    assert held(word) == ((600_000, 1_800_000), (0,), 160_000, denoiser)
    assert held(encoder=word) == ((0, 0), (8_000_000,), 160_000, sum(encoders))
    assert held(word, word).fixed == denoiser + sum(encoders)
    assert held(word, word).total == denoiser + sum(encoders) + 160_000


def test_shards_are_parts_of_the_weights_but_the_decoder(held):
    assert held(sharing=4) == held()
    assert held(sharing=4, sharded=True) == ((150_000, 450_000), (2_000_000,), 160_000, 0)
    assert held(sharded=True) == held()


def test_without_a_decoder_or_counted_parameters_there_is_less(held):
    bare = PipelineFacts("toy", "image", (DENOISER._replace(params=None), part("text-encoder")))
    assert held(pipeline=bare) == ((0,), (0,), 0, 0)
    blank = PipelineFacts("toy", "image", (DENOISER, VAE._replace(params=None)))
    assert held(pipeline=blank).decoder == 0


def test_blocks_that_are_gathered_are_the_two_at_work():
    two = PipelineFacts("toy", "image", (DENOISER, UNET._replace(params=300_000), VAE))
    for job, size in (
        (JOB, 0),
        (JOB._replace(sharded=True), 0),
        (JOB._replace(sharing=2), 0),
        (JOB._replace(sharded=True, sharing=2), 2 * 400_000 * 2),
        (JOB._replace(sharded=True, sharing=2, precision="fp32"), 2 * 400_000 * 4),
    ):
        assert weights.gathered(two, job) == size
    large = PipelineFacts("toy", "image", (DENOISER, UNET, VAE))
    whole = JOB._replace(sharded=True, sharing=8)
    assert weights.gathered(large, whole) == 2 * 4_000_000 * 2, "no blocks: all of it"
    none = PipelineFacts("toy", "image", (part("transformer"), VAE))
    assert weights.gathered(none, whole) == 0


FUSED = 3 * 100 * 100 * 12


def test_fused_projections_lie_beside_those_they_are_made_of(held, form):
    assert weights.fused_params(DENOISER) == FUSED
    assert weights.fused_params(DENOISER._replace(hidden=None)) == 0
    assert weights.fused_params(DENOISER._replace(attention_sets=None)) == 0
    assert held(fused=True).denoisers == (8_000_000 + 2 * FUSED,)
    assert held("fp32", fused=True).denoisers == (16_000_000 + 2 * FUSED,)
    eight = weights.part_bytes(4_000_000, form("int8"), 2)
    assert held("int8", fused=True).denoisers == (eight + FUSED,)


def test_before_quantizing_everything_is_wide():
    params = 4_000_000 + 300_000 + 900_000 + 80_000
    assert weights.unquantized(PIPELINE, JOB) == 2 * params
    assert weights.unquantized(PIPELINE, JOB._replace(precision="fp32")) == 4 * params
    assert weights.unquantized(PIPELINE, JOB._replace(fused=True)) == 2 * (params + FUSED)


# Stages

HELD = weights.Weights((600, 1_800), (7_200, 1_200), 240, 60)
WORK = 18 * TOKENS * 200
RESULT = activations.decode_bytes(VAE, JOB)


def seen(pipeline=PIPELINE, **changes) -> dict[str, tuple[int, int]]:
    found = stages.stages(pipeline, JOB._replace(**changes), HELD)
    return {stage.name: (stage.weights, stage.activations) for stage in found}


def test_without_offload_every_stage_holds_everything():
    assert HELD.total == 11_100
    assert seen() == {
        "encode text": (11_100, 0),
        "denoise": (11_100, WORK),
        "decode": (11_100, RESULT),
    }


def test_offload_holds_the_largest_component_of_a_stage_or_a_twelfth_of_it():
    assert seen(offload=MODEL) == {
        "encode text": (1_860, 0),
        "denoise": (7_260, WORK),
        "decode": (300, RESULT),
    }
    assert seen(offload=LAYERS) == {
        "encode text": (60 + 150, 0),
        "denoise": (60 + 600, WORK),
        "decode": (60 + 20, RESULT),
    }


def test_without_an_encoder_there_is_nothing_to_encode():
    bare = HELD._replace(encoders=())
    first = next(stages.stages(PIPELINE, JOB._replace(offload=MODEL), bare))
    assert (first.name, first.weights) == ("encode text", 60)


def test_quantizing_in_place_loads_everything_first():
    params = 2 * (4_000_000 + 300_000 + 900_000 + 80_000)
    assert seen(quantized_on_gpu=True)["load"] == (params, 0)
    assert "load" not in seen(quantized_on_gpu=True, offload=MODEL)


def test_the_busier_denoiser_works_and_shards_are_gathered():
    wide = DENOISER._replace(component="transformer-2", hidden=300)
    two = PipelineFacts("toy", "image", (DENOISER, wide, VAE))
    assert seen(two)["denoise"][1] == 3 * WORK
    shared = seen(two, sharded=True, sharing=2)["denoise"][1]
    assert shared == 18 * 55 * 600 + 2 * 400_000 * 2


def test_what_generates_is_named_so():
    heard = PipelineFacts("toy", "audio", (GENERATOR, CODEC))
    found = seen(heard, seconds=2.0)
    assert list(found) == ["encode text", "generate", "decode"]
    assert found["generate"][1] == made(kept=100, read=1)
    assert found["decode"][1] == 150 * 4 * 320 * 32 * 2


def test_the_peak_is_the_largest_stage_and_the_heavier_of_two_alike():
    assert stages.peak(PIPELINE, JOB, HELD).size == 11_100 + max(WORK, RESULT)
    assert stages.Stage("one", 5, 7).size == 12
    clip = JOB._replace(offload=MODEL, width=16, height=16)
    work = 18 * (1 + 50) * 200
    result = activations.decode_bytes(VAE, clip)
    alike = HELD._replace(denoisers=(1_000,), decoder=1_000 + work - result)
    found = stages.peak(PIPELINE, clip, alike)
    assert (found.name, found.weights) == ("decode", 60 + 1_000 + work - result)


# The most that a GPU makes


def test_the_most_samples_and_the_largest_picture_of_the_shape():
    area = 512 * 256

    def holds(job) -> bool:
        return job.width * job.height * job.batch <= area

    assert largest(JOB._replace(width=256, height=128), holds) == (4, 512, 256)
    assert largest(JOB._replace(width=128, height=256), holds) == (4, 256, 512)
    assert largest(JOB._replace(width=512, height=256, batch=2), holds) == (1, 368, 176)
    assert largest(JOB, lambda _: True) == (1024, 8192, 4912)
    assert largest(JOB, lambda _: False) == (0, 0, 0)
    assert largest(JOB._replace(seconds=1.0), lambda job: job.batch < 9) == (8, 0, 0)
    narrow = JOB._replace(width=1600, height=16)
    assert largest(narrow, lambda job: job.width <= 160)[1:] == (160, 16), "a step at least"


def test_encoders_are_two():
    assert PIPELINE.encoders == (CLIP, T5)
