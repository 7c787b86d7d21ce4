"""The stand-in provider: echoes inputs, adds the outputs that real resources have."""

# ruff: noqa: ARG002 - the protocol gives every method its parameters, used or not.

from __future__ import annotations

import hashlib
import json
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import grpc
from google.protobuf import empty_pb2, json_format, struct_pb2
from pulumi.runtime import rpc
from pulumi.runtime.proto import plugin_pb2, provider_pb2, provider_pb2_grpc

from tests.fakes.aws import schema
from tools.engine.host.processes import when_orphaned

Properties = dict[str, Any]

DEFAULT_REGION = "us-east-1"
# Types that resources.json does not know: programs in Python may use any.
UNLISTED: Properties = {"id": "{hash}", "outputs": {}}


def plain(value: Any) -> Any:
    """Return a value without the mark that makes it secret."""
    if isinstance(value, dict) and value.get(rpc._special_sig_key) == rpc._special_secret_sig:
        return value["value"]
    return value


def to_dict(message: struct_pb2.Struct) -> Properties:
    """Read properties; secrets and unknowns stay as the engine marks them."""
    return json_format.MessageToDict(message)


def to_struct(properties: Properties) -> struct_pb2.Struct:
    """Write properties."""
    return json_format.ParseDict(properties, struct_pb2.Struct())


def short_hash(urn: str) -> str:
    """Return what real ids end in; the same for the same resource, run after run."""
    return hashlib.sha256(urn.encode()).hexdigest()[:17]


def fill(value: Any, words: dict[str, str]) -> Any:
    """Put the words into a template, or into each of a list."""
    if isinstance(value, list):
        return [fill(item, words) for item in value]
    return value.format(**words) if isinstance(value, str) else value


class Aws(provider_pb2_grpc.ResourceProviderServicer):
    """Answers the engine; the names are those of the protocol."""

    def __init__(self) -> None:
        """Know what resources.json says."""
        known = schema.load()
        self.resources: dict[str, Properties] = known["resources"]
        self.functions: dict[str, Properties] = known["functions"]
        self.region = DEFAULT_REGION

    def Handshake(
        self, request: provider_pb2.ProviderHandshakeRequest, context: grpc.ServicerContext
    ) -> provider_pb2.ProviderHandshakeResponse:
        """Take secrets as such, and everything else as plain values."""
        return provider_pb2.ProviderHandshakeResponse(accept_secrets=True)

    def GetPluginInfo(
        self, request: empty_pb2.Empty, context: grpc.ServicerContext
    ) -> plugin_pb2.PluginInfo:
        """Tell our version."""
        return plugin_pb2.PluginInfo(version=schema.VERSION)

    def GetSchema(
        self, request: provider_pb2.GetSchemaRequest, context: grpc.ServicerContext
    ) -> provider_pb2.GetSchemaResponse:
        """Describe the types that programs in YAML may use."""
        return provider_pb2.GetSchemaResponse(schema=json.dumps(schema.build()))

    def CheckConfig(
        self, request: provider_pb2.CheckRequest, context: grpc.ServicerContext
    ) -> provider_pb2.CheckResponse:
        """Accept any configuration."""
        return provider_pb2.CheckResponse(inputs=request.news)

    def DiffConfig(
        self, request: provider_pb2.DiffRequest, context: grpc.ServicerContext
    ) -> provider_pb2.DiffResponse:
        """Let a change of configuration change nothing."""
        return provider_pb2.DiffResponse(changes=provider_pb2.DiffResponse.DIFF_NONE)

    def Configure(
        self, request: provider_pb2.ConfigureRequest, context: grpc.ServicerContext
    ) -> provider_pb2.ConfigureResponse:
        """Take the region."""
        self.region = plain(to_dict(request.args).get("region")) or DEFAULT_REGION
        return provider_pb2.ConfigureResponse(acceptSecrets=True, supportsPreview=True)

    def Check(
        self, request: provider_pb2.CheckRequest, context: grpc.ServicerContext
    ) -> provider_pb2.CheckResponse:
        """Accept any inputs, and name what AWS wants named."""
        inputs = to_dict(request.news)
        known = self.resources.get(request.type, UNLISTED)
        if known.get("autonamed") and not inputs.keys() & {"name", "namePrefix"}:
            old = to_dict(request.olds).get("name")
            inputs["name"] = old or f"{request.name}-{short_hash(request.urn)[:7]}"
        return provider_pb2.CheckResponse(inputs=to_struct(inputs))

    def Diff(
        self, request: provider_pb2.DiffRequest, context: grpc.ServicerContext
    ) -> provider_pb2.DiffResponse:
        """Compare inputs; what resources.json says so of replaces the resource."""
        old, new = to_dict(request.old_inputs), to_dict(request.news)
        changed = sorted(key for key in old.keys() | new.keys() if old.get(key) != new.get(key))
        changed = [key for key in changed if key not in request.ignoreChanges]
        known = self.resources.get(request.type, UNLISTED).get("replaces", ())
        kinds = provider_pb2.DiffResponse
        return provider_pb2.DiffResponse(
            changes=kinds.DIFF_SOME if changed else kinds.DIFF_NONE,
            diffs=changed,
            replaces=[key for key in changed if key in known],
        )

    def _outputs(self, kind: str, urn: str, inputs: Properties) -> tuple[str, Properties]:
        known = self.resources.get(kind, UNLISTED)
        words = {
            "hash": short_hash(urn),
            "name": str(plain(inputs.get("name", short_hash(urn)))),
            "region": str(plain(inputs.get("region", self.region))),
        }
        words["id"] = known["id"].format(**words)
        outputs = {name: fill(value, words) for name, value in known["outputs"].items()}
        outputs["region"] = words["region"]
        outputs["tagsAll"] = inputs.get("tags") if isinstance(inputs.get("tags"), dict) else {}
        return words["id"], {**outputs, **inputs}

    def _unknown_outputs(self, kind: str, inputs: Properties) -> Properties:
        computed = self.resources.get(kind, UNLISTED)["outputs"]
        known = {"region": self.region, **inputs}
        return {**dict.fromkeys(computed, rpc.UNKNOWN), **known}

    def Create(
        self, request: provider_pb2.CreateRequest, context: grpc.ServicerContext
    ) -> provider_pb2.CreateResponse:
        """Make a resource; in a preview what AWS would decide is unknown."""
        inputs = to_dict(request.properties)
        if request.preview:
            outputs = self._unknown_outputs(request.type, inputs)
            return provider_pb2.CreateResponse(properties=to_struct(outputs))
        identity, outputs = self._outputs(request.type, request.urn, inputs)
        return provider_pb2.CreateResponse(id=identity, properties=to_struct(outputs))

    def Read(
        self, request: provider_pb2.ReadRequest, context: grpc.ServicerContext
    ) -> provider_pb2.ReadResponse:
        """Find every resource as it was left."""
        properties, inputs = request.properties, request.inputs
        if not properties.fields:  # `Type.get(name, id)`: nothing is known but the id
            properties = to_struct(self._outputs(request.type, request.urn, {})[1])
        return provider_pb2.ReadResponse(id=request.id, properties=properties, inputs=inputs)

    def Update(
        self, request: provider_pb2.UpdateRequest, context: grpc.ServicerContext
    ) -> provider_pb2.UpdateResponse:
        """Change a resource in place; a launch template gets its next version."""
        outputs = self._outputs(request.type, request.urn, to_dict(request.news))[1]
        if "latestVersion" in outputs:
            version = to_dict(request.olds).get("latestVersion", 0)
            outputs["latestVersion"] = rpc.UNKNOWN if request.preview else version + 1
        return provider_pb2.UpdateResponse(properties=to_struct(outputs))

    def Delete(
        self, request: provider_pb2.DeleteRequest, context: grpc.ServicerContext
    ) -> empty_pb2.Empty:
        """Forget a resource."""
        return empty_pb2.Empty()

    def Invoke(
        self, request: provider_pb2.InvokeRequest, context: grpc.ServicerContext
    ) -> provider_pb2.InvokeResponse:
        """Give the canned answer of a function."""
        function = self.functions.get(request.tok)
        if function is None:
            context.abort(
                grpc.StatusCode.NOT_FOUND, f"the stand-in aws provider has no {request.tok}"
            )
        arguments = to_dict(request.args)
        region = arguments.get("region", self.region)
        canned = {
            name: fill(value, {"region": region}) for name, value in function["answer"].items()
        }
        response = provider_pb2.InvokeResponse()
        getattr(response, "return").CopyFrom(to_struct({**arguments, **canned}))
        return response

    def Cancel(self, request: empty_pb2.Empty, context: grpc.ServicerContext) -> empty_pb2.Empty:
        """Have nothing to cancel."""
        return empty_pb2.Empty()


def serve(provider: Aws) -> None:
    """Serve until the engine says stop, or is gone."""
    server = grpc.server(ThreadPoolExecutor(16))
    provider_pb2_grpc.add_ResourceProviderServicer_to_server(provider, server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    when_orphaned(lambda: os._exit(0))
    print(port, flush=True)
    try:
        server.wait_for_termination()
    except KeyboardInterrupt:
        sys.exit(0)


def main() -> None:
    """Serve as AWS."""
    serve(Aws())
