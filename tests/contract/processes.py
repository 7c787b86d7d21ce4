"""The real plugin and pack processes, and an engine that only records what they ask of it."""

# ruff: noqa: ARG002 - the protocol gives every method its parameters, used or not.

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import grpc
from google.protobuf import empty_pb2, json_format, struct_pb2
from pulumi.runtime.proto import (
    analyzer_pb2,
    analyzer_pb2_grpc,
    engine_pb2,
    engine_pb2_grpc,
    errors_pb2,
    provider_pb2,
    provider_pb2_grpc,
    resource_pb2,
    resource_pb2_grpc,
    status_pb2,
)

ROOT = Path(__file__).resolve().parents[2]
SECRET = {"4dabf18193072939515e22adb298388d": "1b47061264138c4ac30d75fd1eb44270"}
UNKNOWN = "04da6b54-80e4-46f7-96ec-b56ff0331ba9"
TODAY = "2026-11-30"
SECONDS = 60
"""Far above any answer's time: a hanging process must not hang the suite."""


def secret(value: Any) -> dict[str, Any]:
    return {**SECRET, "value": value}


def to_struct(properties: Mapping[str, Any]) -> struct_pb2.Struct:
    return json_format.ParseDict(dict(properties), struct_pb2.Struct())


@dataclass
class Recorder(engine_pb2_grpc.EngineServicer, resource_pb2_grpc.ResourceMonitorServicer):
    """An engine and a resource monitor: keeps what is logged and registered."""

    logs: list[str] = field(default_factory=list)
    registered: list[resource_pb2.RegisterResourceRequest] = field(default_factory=list)
    outputs: list[resource_pb2.RegisterResourceOutputsRequest] = field(default_factory=list)
    preview: bool = True
    address: str = ""

    def clear(self, *, preview: bool) -> None:
        self.logs.clear()
        self.registered.clear()
        self.outputs.clear()
        self.preview = preview

    def Log(self, request: engine_pb2.LogRequest, context: Any) -> empty_pb2.Empty:
        self.logs.append(request.message)
        return empty_pb2.Empty()

    def GetRootResource(self, request: Any, context: Any) -> engine_pb2.GetRootResourceResponse:
        return engine_pb2.GetRootResourceResponse()

    def SetRootResource(self, request: Any, context: Any) -> engine_pb2.SetRootResourceResponse:
        return engine_pb2.SetRootResourceResponse()

    def SupportsFeature(
        self, request: resource_pb2.SupportsFeatureRequest, context: Any
    ) -> resource_pb2.SupportsFeatureResponse:
        known = {"secrets", "resourceReferences", "outputValues"}
        return resource_pb2.SupportsFeatureResponse(hasSupport=request.id in known)

    def GetDeploymentInfo(self, request: Any, context: Any) -> resource_pb2.DeploymentInfo:
        features = (
            resource_pb2.RESOURCE_MONITOR_FEATURE_SECRETS,
            resource_pb2.RESOURCE_MONITOR_FEATURE_RESOURCE_REFERENCES,
            resource_pb2.RESOURCE_MONITOR_FEATURE_OUTPUT_VALUES,
        )
        return resource_pb2.DeploymentInfo(supportedFeatures=features)

    def RegisterResource(
        self, request: resource_pb2.RegisterResourceRequest, context: Any
    ) -> resource_pb2.RegisterResourceResponse:
        self.registered.append(request)
        urn = f"urn:pulumi:dev::app::{request.type}::{request.name}"
        identity = "" if self.preview or not request.custom else f"{request.name}-id"
        return resource_pb2.RegisterResourceResponse(urn=urn, id=identity, object=request.object)

    def RegisterResourceOutputs(
        self, request: resource_pb2.RegisterResourceOutputsRequest, context: Any
    ) -> empty_pb2.Empty:
        self.outputs.append(request)
        return empty_pb2.Empty()

    def made(self, kind: str) -> list[dict[str, Any]]:
        """Return the properties of every registered resource of a type."""
        return [
            json_format.MessageToDict(one.object) for one in self.registered if one.type == kind
        ]


@contextmanager
def recorder() -> Iterator[Recorder]:
    server = grpc.server(ThreadPoolExecutor(8))
    servicer = Recorder()
    engine_pb2_grpc.add_EngineServicer_to_server(servicer, server)
    resource_pb2_grpc.add_ResourceMonitorServicer_to_server(servicer, server)
    servicer.address = f"127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
    server.start()
    try:
        yield servicer
    finally:
        server.stop(0)


@contextmanager
def serving(command: list[str], folder: Path, environ: Mapping[str, str]) -> Iterator[grpc.Channel]:
    """Start a process that prints its port first, and connect to it."""
    process = subprocess.Popen(
        command,
        cwd=folder,
        env=dict(environ),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None and process.stderr is not None
    try:
        line = process.stdout.readline()
        if not line.strip().isdigit():
            process.kill()
            raise AssertionError(f"no port but {line!r}\n{process.stderr.read()}")
        with grpc.insecure_channel(f"127.0.0.1:{int(line)}") as channel:
            yield channel
    finally:
        process.kill()
        process.communicate()


@dataclass
class Refusal:
    """An answer that is an error."""

    code: grpc.StatusCode
    text: str
    errors: dict[str, str]
    """Reason by property path; paths that are empty are numbered."""


@dataclass
class Plugin:
    """The plugin's process with the engine it talks to."""

    stub: provider_pb2_grpc.ResourceProviderStub
    engine: Recorder

    def schema(self) -> Any:
        answer = self.stub.GetSchema(provider_pb2.GetSchemaRequest(), timeout=SECONDS)
        return json.loads(answer.schema)

    def construct(
        self,
        inputs: Mapping[str, Any],
        *,
        name: str = "chat",
        preview: bool = True,
        config: Mapping[str, str] | None = None,
        kind: str = "gpusize:index:GpuWorkload",
    ) -> dict[str, Any] | Refusal:
        """Make a component; returns its outputs or the refusal."""
        self.engine.clear(preview=preview)
        request = provider_pb2.ConstructRequest(
            project="app",
            stack="dev",
            organization="organization",
            config={"gpusize:today": TODAY, **(config or {})},
            dryRun=preview,
            parallel=4,
            monitorEndpoint=self.engine.address,
            type=kind,
            name=name,
            inputs=to_struct(inputs),
            accepts_output_values=True,
        )
        try:
            answer = self.stub.Construct(request, timeout=SECONDS)
        except grpc.RpcError as error:
            return refusal(error)
        return json_format.MessageToDict(answer.state)

    def refuse(self, inputs: Mapping[str, Any], **options: Any) -> Refusal:
        answer = self.construct(inputs, **options)
        assert isinstance(answer, Refusal), answer
        return answer

    def make(self, inputs: Mapping[str, Any], **options: Any) -> dict[str, Any]:
        answer = self.construct(inputs, **options)
        assert isinstance(answer, dict), answer
        return answer

    def invoke(self, arguments: Mapping[str, Any], token: str = "gpusize:index:resolve") -> Any:
        """Call a function; returns its outputs and its failures by property."""
        request = provider_pb2.InvokeRequest(tok=token, args=to_struct(arguments))
        answer = self.stub.Invoke(request, timeout=SECONDS)
        outputs = json_format.MessageToDict(getattr(answer, "return"))
        return outputs, {failure.property: failure.reason for failure in answer.failures}


def refusal(error: Any) -> Refusal:
    """Read the property errors that ride on a gRPC error."""
    errors: dict[str, str] = {}
    for key, value in error.trailing_metadata() or ():
        if key == "grpc-status-details-bin":
            for detail in status_pb2.Status.FromString(value).details:
                found = errors_pb2.InputPropertiesError()
                if detail.Unpack(found):
                    for number, one in enumerate(found.errors):
                        errors[one.property_path or f"#{number}"] = one.reason
    return Refusal(error.code(), error.details(), errors)


@contextmanager
def plugin(folder: Path, environ: Mapping[str, str]) -> Iterator[Plugin]:
    """Start the plugin as the engine does: its folder is run, in the program's folder."""
    with recorder() as engine:
        command = [sys.executable, "-u", str(ROOT / "plugin"), engine.address]
        with serving(command, folder, environ) as channel:
            yield Plugin(provider_pb2_grpc.ResourceProviderStub(channel), engine)


@dataclass(frozen=True)
class Told:
    """One thing that the pack reported."""

    policy: str
    level: str
    severity: str
    message: str
    urn: str


URN = "urn:pulumi:dev::app::"


def resource(
    kind: str, name: str, properties: Mapping[str, Any], *, parent: str = "", region: str = ""
) -> dict[str, Any]:
    """Return what the requests of one resource and of a whole stack have in common."""
    chain = f"{parent.split('::')[2]}${kind}" if parent else kind
    provider = None
    if region:
        provider = analyzer_pb2.AnalyzerProviderResource(
            type="pulumi:providers:aws",
            name="default",
            urn=f"{URN}pulumi:providers:aws::default",
            properties=to_struct({"region": region}),
        )
    return {
        "type": kind,
        "name": name,
        "urn": f"{URN}{chain}::{name}",
        "properties": to_struct(properties),
        "options": analyzer_pb2.AnalyzerResourceOptions(parent=parent),
        "provider": provider,
    }


@dataclass
class Pack:
    """The pack's process."""

    stub: analyzer_pb2_grpc.AnalyzerStub

    def info(self) -> analyzer_pb2.AnalyzerInfo:
        return self.stub.GetAnalyzerInfo(empty_pb2.Empty(), timeout=SECONDS)

    def levels(self) -> dict[str, str]:
        word = analyzer_pb2.EnforcementLevel.Name
        return {one.name: word(one.enforcementLevel).lower() for one in self.info().policies}

    def configure(self, config: Mapping[str, Any]) -> None:
        """Configure as the engine does: a level for every policy, with the properties given."""
        level = analyzer_pb2.EnforcementLevel.Value
        sent: dict[str, analyzer_pb2.PolicyConfig] = {}
        for name, default in {**self.levels(), **dict.fromkeys(config, "advisory")}.items():
            given = config.get(name, {})
            given = {"enforcementLevel": given} if isinstance(given, str) else dict(given)
            word = given.pop("enforcementLevel", self.levels().get(name, default))
            sent[name] = analyzer_pb2.PolicyConfig(
                enforcementLevel=level(word.upper()), properties=to_struct(given)
            )
        request = analyzer_pb2.ConfigureAnalyzerRequest(policyConfig=sent)
        self.stub.Configure(request, timeout=SECONDS)

    def configure_stack(self, **tags: str) -> None:
        """Tell the tags of the stack, as the engine does before it configures."""
        request = analyzer_pb2.AnalyzerStackConfigureRequest(
            stack="dev", project="app", organization="organization", dry_run=True, tags=tags
        )
        self.stub.ConfigureStack(request, timeout=SECONDS)

    def analyze(
        self, kind: str, name: str, properties: Mapping[str, Any], **more: Any
    ) -> list[Told]:
        request = analyzer_pb2.AnalyzeRequest(**resource(kind, name, properties, **more))
        return told(self.stub.Analyze(request, timeout=SECONDS))

    def analyze_stack(self, *resources: Mapping[str, Any]) -> list[Told]:
        """Judge a whole stack; `sources` of a resource are the URNs behind its properties."""
        found = []
        for one in resources:
            fields = dict(one)
            sources = fields.pop("sources", {})
            parent = fields["options"].parent
            behind = {
                key: analyzer_pb2.AnalyzerPropertyDependencies(urns=urns)
                for key, urns in sources.items()
            }
            found.append(
                analyzer_pb2.AnalyzerResource(**fields, parent=parent, propertyDependencies=behind)
            )
        request = analyzer_pb2.AnalyzeStackRequest(resources=found)
        return told(self.stub.AnalyzeStack(request, timeout=SECONDS))

    def remediate(self, kind: str, name: str, properties: Mapping[str, Any]) -> Any:
        request = analyzer_pb2.AnalyzeRequest(**resource(kind, name, properties))
        return self.stub.Remediate(request, timeout=SECONDS)


def told(response: analyzer_pb2.AnalyzeResponse) -> list[Told]:
    return [
        Told(
            one.policyName,
            analyzer_pb2.EnforcementLevel.Name(one.enforcementLevel).lower(),
            analyzer_pb2.PolicySeverity.Name(one.severity).rpartition("_")[2].lower(),
            one.message,
            one.urn,
        )
        for one in response.diagnostics
    ]


@contextmanager
def pack(
    environ: Mapping[str, str], config: Mapping[str, str] | None = None, prelude: str = ""
) -> Iterator[Pack]:
    """Start the pack as the language host does; `prelude` is code that runs before it."""
    stack = {
        "PULUMI_PROJECT": "app",
        "PULUMI_STACK": "dev",
        "PULUMI_ORGANIZATION": "organization",
        "PULUMI_DRY_RUN": "true",
        "PULUMI_CONFIG": json.dumps({"gpusize:today": TODAY, **(config or {})}),
        "PULUMI_CONFIG_SECRET_KEYS": "[]",
    }
    folder = ROOT / "policies"
    run = ["-m", "pulumi.policy", "127.0.0.1:0", str(folder)]
    if prelude:
        code = f"import sys; sys.argv = {['policy', *run[2:]]!r}\n{prelude}\n"
        run = ["-c", f"{code}import runpy; runpy.run_module('pulumi.policy', run_name='__main__')"]
    command = [sys.executable, "-u", *run]
    with serving(command, folder, {**environ, **stack}) as channel:
        yield Pack(analyzer_pb2_grpc.AnalyzerStub(channel))
