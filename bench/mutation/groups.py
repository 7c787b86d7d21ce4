"""Which modules are changed, and the tests that hold each of them."""

from __future__ import annotations

from typing import NamedTuple

FOLDER = "plugin/gpusize/memory"
Tests = tuple[tuple[str, ...], ...]
"""Files of tests in the order in which they run: the next only where the last notice nothing."""


class Group(NamedTuple):
    """Modules that are sampled together."""

    near: dict[str, str]
    """Tests of a module, the fastest first, by its path below `memory/` without the ending."""
    broad: str
    """Tests of the whole group, run where those of the module notice nothing."""

    def tests(self, module: str) -> Tests:
        """Files of tests that hold a module, each once: its own, and those of the whole group."""
        near, broad = (
            tuple(f"tests/{word}.py" for word in words.split())
            for words in (self.near[module], self.broad)
        )
        return near, tuple(file for file in broad if file not in near)


GROUPS = {
    "serving": Group(
        {
            "kernels": "unit/memory/test_verdict_terms unit/memory/test_kernels",
            "kv_cache": "unit/memory/test_cache_terms",
            "kv_compressed": "unit/memory/test_cache_terms",
            "kv_costs": "unit/memory/test_cache_terms",
            "weights": "unit/memory/test_weight_terms unit/memory/test_serving_terms",
            "runtime": "unit/memory/test_engine_terms unit/memory/test_serving_terms",
            "setup": "unit/memory/test_serving_terms",
            "serving": "unit/memory/test_serving_terms",
            "serving_rank": "unit/memory/test_serving_terms",
            "formats": "unit/memory/test_weight_terms unit/memory/test_gguf",
            "verdict": "unit/memory/test_verdict_terms",
            "measured": "unit/memory/test_measurement property/test_measurement",
            "neighbors": "unit/memory/test_verdict_terms unit/resolve/test_neighbors",
            "fit": "unit/memory/test_fit_terms unit/memory/test_embedding unit/memory/test_sound",
            "result": "unit/memory/test_fit_terms",
            "alone": "unit/memory/test_fit_terms unit/memory/test_encoder_terms",
            "embedding": "unit/memory/test_encoder_terms unit/memory/test_embedding",
            "recognition": "unit/memory/test_encoder_terms unit/memory/test_sound",
        },
        "unit/memory/test_fit unit/memory/test_kv_cache unit/memory/test_weights "
        "unit/memory/test_runtime unit/test_memory_page property/test_engine_terms "
        "property/test_memory",
    ),
    "pipelines": Group(
        {
            "diffusion/activations": "unit/memory/test_pipeline_terms",
            "diffusion/job": "unit/memory/test_pipeline_fit_terms",
            "diffusion/largest": "unit/memory/test_pipeline_terms",
            "diffusion/sizer": "unit/memory/test_pipeline_fit_terms",
            "diffusion/sound": "unit/memory/test_pipeline_terms unit/memory/test_sound",
            "diffusion/stages": "unit/memory/test_pipeline_terms",
            "diffusion/weights": "unit/memory/test_pipeline_terms",
            **dict.fromkeys(
                (
                    "diffusion_training/activations",
                    "diffusion_training/job",
                    "diffusion_training/sizer",
                    "diffusion_training/stages",
                    "diffusion_training/states",
                    "diffusion_training/trained",
                ),
                "unit/memory/test_pipeline_training_terms unit/memory/test_pipeline_trainer_terms "
                "unit/memory/test_diffusion_training",
            ),
        },
        "unit/memory/test_diffusion unit/memory/test_sound property/test_pictures "
        "property/test_diffusion_training",
    ),
    "training": Group(
        {
            "training/activations": "unit/memory/training/test_activations",
            "training/adapters": "unit/memory/training/test_parts "
            "unit/memory/test_training_company",
            "training/kept": "unit/memory/training/test_kept unit/memory/training/test_adapted",
            "training/objectives": "unit/memory/test_training_company",
            "training/parts": "unit/memory/training/test_parts",
            "training/recipe": "unit/memory/training/test_recipe",
            "training/setup": "unit/memory/training/test_setup",
            "training/sharing": "unit/memory/training/test_recipe",
            "training/sizer": "unit/memory/training/test_sizer unit/memory/training/test_moments",
            "training/vision": "unit/memory/training/test_parts",
        },
        "property/test_training_terms unit/memory/test_training unit/memory/test_training_company "
        "unit/test_memory_page "
        "unit/resolve/test_training property/test_training",
    ),
}
