"""Components on Pulumi's mocks: no engine, no cloud, every resource exists at once."""

from __future__ import annotations

import pulumi
from pulumi.runtime.proto import engine_pb2

from gpusize.component import GpuWorkload

TEMPLATE = "aws:ec2/launchTemplate:LaunchTemplate"


class Recorder(pulumi.runtime.Mocks):
    """Makes every resource at once and keeps what it was given."""

    def __init__(self):
        self.made = []

    def new_resource(self, args):
        self.made.append(args)
        state = dict(args.inputs)
        if args.typ == TEMPLATE:
            state["latestVersion"] = 3
        return f"{args.name}-id", state

    def call(self, args):  # noqa: ARG002 (the protocol gives it)
        return {}

    def inputs(self, kind):
        return [one.inputs for one in self.made if one.typ == kind]


class Engine(pulumi.runtime.mocks.MockEngine):
    """Keeps what is logged."""

    def __init__(self):
        super().__init__(None)
        self.said = []

    def Log(self, request):
        if request.severity != engine_pb2.DEBUG:
            self.said.append(request.message)


def run(args, *, preview=True, name="chat", config=None, opts=None):
    """Make one component; returns the mocks, the log, and its outputs by name."""
    mocks, engine, outputs = Recorder(), Engine(), {}
    pulumi.runtime.set_mocks(mocks, "app", "dev", preview=preview)
    pulumi.runtime.settings.SETTINGS.engine = engine
    pulumi.runtime.set_all_config({"gpusize:today": "2026-11-30", **(config or {})})

    @pulumi.runtime.test
    def program():
        made = GpuWorkload(name, args() if callable(args) else args, opts)
        fields = {
            key: value for key, value in vars(made).items() if isinstance(value, pulumi.Output)
        }
        return pulumi.Output.all(**fields).apply(outputs.update)

    program()
    return mocks, engine.said, outputs
