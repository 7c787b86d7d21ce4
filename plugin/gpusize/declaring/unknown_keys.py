"""What is said of a key that its group does not have."""

from __future__ import annotations

from gpusize.declaring.fields import fields_of
from gpusize.declaring.suggest import Suggestions, listed
from gpusize.workload import WORKLOAD_CLASSES, Group, Workload

SYNONYMS = {
    "context": "contextLength",
    "maxmodellen": "contextLength",
    "maxtokens": "contextLength",
    "seqlen": "contextLength",
    "precision": "computePrecision",
    "dtype": "computePrecision",
    "quantization": "weightsFormat",
    "weights": "weightsFormat",
    "kvdtype": "kvCacheFormat",
    "kvcachedtype": "kvCacheFormat",
    "gpumemoryutilization": "memoryFraction",
    "memfractionstatic": "memoryFraction",
    "maxnumseqs": "maxSequences",
    "maxnumbatchedtokens": "maxBatchedTokens",
    "enforceeager": "eager",
    "tensorparallel": "tp",
    "tensorparallelsize": "tp",
    "pipelineparallelsize": "pp",
    "dataparallelsize": "dp",
    "expertparallelsize": "ep",
    "numframes": "frames",
    "numinferencesteps": "steps",
    "batchsize": "batch",
    "duration": "seconds",
    "nodes": "nodesPerReplica",
    "purchaseoption": "market",
    "markettype": "market",
    "availabilityzone": "zone",
    "az": "zone",
    "numlayers": "layers",
    "numhiddenlayers": "layers",
    "hiddensize": "hidden",
    "intermediatesize": "intermediate",
    "numattentionheads": "heads",
    "numkeyvalueheads": "kvHeads",
    "vocabsize": "vocab",
    "tiewordembeddings": "tieEmbeddings",
    "maxpositionembeddings": "maxPosition",
}
"""Words of engines, AWS and config.json for fields of the vocabulary, folded to letters."""
TRAINING_SYNONYMS = {
    "seqlen": "sequenceLength",
    "maxseqlength": "sequenceLength",
    "maxlength": "sequenceLength",
    "contextlength": "sequenceLength",
    "sequencelen": "sequenceLength",
    "batchsize": "microBatch",
    "microbatchsize": "microBatch",
    "perdevicetrainbatchsize": "microBatch",
    "globalbatchsize": "globalBatch",
    "contextparallelsize": "cp",
    "contextparalleldegree": "cp",
    "sequenceparallelsize": "cp",
    "optim": "optimizer",
    "gradientcheckpointing": "recompute",
    "activationcheckpointing": "recompute",
    "flashattention": "attention",
    "attnimplementation": "attention",
    "deepspeed": "sharding",
    "framework": "trainer",
    "engine": "trainer",
    "numtrainepochs": "epochs",
    "lora": "adapter",
    "cachelatents": "cachedLatents",
    "cachetextencoderoutputs": "cachedTextEmbeddings",
    "useema": "ema",
    "maxtrainsteps": "trainSteps",
    "trainbatchsize": "microBatch",
}
"""The same of trainers."""


def explain_key(cls: type[Group], key: str, suggestions: Suggestions) -> tuple[str, str]:
    """Message and fix for an unknown key of a group."""
    fields = fields_of(cls)
    folded = key.lower().replace("-", "").replace("_", "")
    synonym = TRAINING_SYNONYMS.get(folded)
    if synonym not in fields:
        synonym = SYNONYMS.get(folded)
    if synonym in fields:
        return "is not a field", f"it is called {synonym} here"
    if issubclass(cls, Workload):
        told = _of_another_kind(cls, key) or _of_a_group(cls, key)
        if told:
            return told
    elif key in fields_of(Workload):
        return "is not a field of this group", "it stands at the workload itself"
    keys = list(dict.fromkeys(spec.key for spec in fields.values()))
    others = f"fields are {listed(keys)}" if not issubclass(cls, Workload) else ""
    return "is not a field", suggestions.fix(key, keys, others) or "leave it out"


def _of_another_kind(cls: type[Group], key: str) -> tuple[str, str] | None:
    owners = [pair for pair, owner in WORKLOAD_CLASSES.items() if key in fields_of(owner)]
    if not owners:
        return None
    mine = next(pair for pair, owner in WORKLOAD_CLASSES.items() if owner is cls)
    kinds = list(dict.fromkeys(kind.value for kind, _ in owners))
    if mine[0].value in kinds:
        modalities = list(dict.fromkeys(modality.value for _, modality in owners))
        return f"belongs to modality {listed(modalities)}", "declare that modality, or leave it out"
    return f"belongs to kind {listed(kinds)}", f"leave it out for kind {mine[0].value}"


def _of_a_group(cls: type[Group], key: str) -> tuple[str, str] | None:
    for spec in fields_of(cls).values():
        if spec.group is not None and not spec.many and key in fields_of(spec.group):
            inner = fields_of(spec.group)[key].key
            return f"belongs to the group {spec.key}", f"write {spec.key}: {{{inner}: …}}"
    return None
