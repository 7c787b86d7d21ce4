"""The stand-in provider: echoes the objects that it is given."""

# ruff: noqa: ARG002 - the protocol gives every method its parameters, used or not.

from __future__ import annotations

import json
from typing import Any

import grpc
from google.protobuf import empty_pb2
from pulumi.runtime.proto import plugin_pb2, provider_pb2

from tests.fakes.aws.provider import Aws, Properties

VERSION = "4.999.0"
"""Newer than any SDK of this major version asks for."""
KINDS = (
    "apps/v1:Deployment",
    "apps/v1:StatefulSet",
    "batch/v1:Job",
    "core/v1:Pod",
    "karpenter.sh/v1:NodePool",
)
"""Objects that programs in YAML may use; Python programs may use any."""
ANYTHING = {"$ref": "pulumi.json#/Any"}
FIELDS: Properties = {
    "apiVersion": {"type": "string"},
    "kind": {"type": "string"},
    "metadata": ANYTHING,
    "spec": ANYTHING,
}


def build() -> dict[str, Any]:
    """Return the schema of the package."""
    one = {"inputProperties": FIELDS, "properties": FIELDS}
    return {
        "name": "kubernetes",
        "version": VERSION,
        "meta": {"moduleFormat": "(.*)"},
        "config": {},
        "provider": {},
        "resources": {f"kubernetes:{kind}": one for kind in KINDS},
    }


class Kubernetes(Aws):
    """Answers the engine as the stand-in for AWS does, for other types."""

    def __init__(self) -> None:
        """Know no outputs besides the inputs."""
        super().__init__()
        self.resources = {}
        self.functions = {}

    def GetPluginInfo(
        self, request: empty_pb2.Empty, context: grpc.ServicerContext
    ) -> plugin_pb2.PluginInfo:
        """Tell our version."""
        return plugin_pb2.PluginInfo(version=VERSION)

    def GetSchema(
        self, request: provider_pb2.GetSchemaRequest, context: grpc.ServicerContext
    ) -> provider_pb2.GetSchemaResponse:
        """Describe the objects."""
        return provider_pb2.GetSchemaResponse(schema=json.dumps(build()))
