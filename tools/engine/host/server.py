"""The language host itself: what the engine asks of it, and its main loop."""

# ruff: noqa: ARG002 - the protocol gives every method its parameters, used or not.

from __future__ import annotations

import argparse
import json
import os
import platform
import signal
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue
from threading import Thread
from typing import NoReturn

import grpc
from google.protobuf import empty_pb2, json_format
from pulumi.runtime.proto import language_pb2, language_pb2_grpc, plugin_pb2

from tools.engine.host import program
from tools.engine.host.interpreter import Interpreter, StartError, find_interpreter
from tools.engine.host.pack import CHANNEL_OPTIONS, PackProcess, PackProxy
from tools.engine.host.processes import Children, Process, pump, when_orphaned

# What the stubs we serve were generated from; the engine only shows it.
HOST_VERSION = "3.274.1"
# Each running plugin and program keeps a thread until it ends.
HOST_THREADS = 32
# Plugins never use the Python of the shell; this is the official host's default for them.
PLUGIN_VIRTUALENV = "venv"

Response = language_pb2.RunPluginResponse


def runtime_options(info: language_pb2.ProgramInfo) -> dict[str, object]:
    """Return the `runtime.options` of a project, plugin or pack."""
    return json_format.MessageToDict(info.options) if info.HasField("options") else {}


def program_environ(
    request: language_pb2.RunRequest, interpreter: Interpreter, base: Mapping[str, str]
) -> dict[str, str]:
    """Return the environment in which the SDK finds its configuration."""
    return {
        **interpreter.environ(base),
        "PULUMI_CONFIG": json.dumps(dict(request.config)),
        "PULUMI_CONFIG_SECRET_KEYS": json.dumps(list(request.configSecretKeys)),
    }


def program_command(
    request: language_pb2.RunRequest, interpreter: Interpreter, engine: str
) -> list[str]:
    """Return the command that runs a program under our runner."""
    info = request.info
    entry = Path(info.program_directory, info.entry_point or ".")
    if entry.is_dir() and not (entry / "__main__.py").is_file():
        raise StartError(f"{entry} has no __main__.py to run")
    return [
        interpreter.command,
        "-u",
        program.__file__,
        f"--monitor={request.monitor_address}",
        f"--engine={engine}",
        f"--project={request.project}",
        f"--stack={request.stack}",
        f"--organization={request.organization}",
        f"--parallel={request.parallel}",
        f"--dry_run={'true' if request.dryRun else 'false'}",
        f"--pwd={request.pwd or info.program_directory}",
        f"--root_directory={info.root_directory}",
        f"--program={entry}",
        "--",
        *request.args,
    ]


def run_response(code: int) -> language_pb2.RunResponse:
    """Translate the exit code of a program."""
    if code == program.EXIT_TOLD:
        return language_pb2.RunResponse(bail=True)
    if code < 0:
        name = signal.Signals(-code).name
        return language_pb2.RunResponse(error=f"the Python program was ended by {name}")
    if code:
        return language_pb2.RunResponse(error=f"the Python program exited with code {code}")
    return language_pb2.RunResponse()


def plugin_environ(request: language_pb2.RunPluginRequest) -> dict[str, str]:
    """Return our environment with what the engine adds for a plugin."""
    pairs = (pair.partition("=") for pair in request.env)
    return {**os.environ, **{name: value for name, _, value in pairs}}


def follow(child: Process, emit: Callable[[Response | None], None]) -> None:
    """Send on what a child prints, then how it ended, then None."""
    assert child.stdout is not None and child.stderr is not None
    pumps = [
        pump(child.stdout, lambda line: emit(Response(stdout=line))),
        pump(child.stderr, lambda line: emit(Response(stderr=line))),
    ]

    def wait() -> None:
        for thread in pumps:
            thread.join()
        emit(Response(exitcode=child.wait()))
        emit(None)

    Thread(target=wait, daemon=True).start()


class LanguageHost(language_pb2_grpc.LanguageRuntimeServicer):
    """Answers the engine; the names are those of the protocol."""

    def __init__(self, engine: str, children: Children) -> None:
        """Serve the engine at this address; empty when the handshake will tell it."""
        self.engine = engine
        self.children = children

    def Handshake(
        self, request: language_pb2.LanguageHandshakeRequest, context: grpc.ServicerContext
    ) -> language_pb2.LanguageHandshakeResponse:
        """Learn the engine's address."""
        self.engine = self.engine or request.engine_address
        return language_pb2.LanguageHandshakeResponse()

    def GetPluginInfo(
        self, request: empty_pb2.Empty, context: grpc.ServicerContext
    ) -> plugin_pb2.PluginInfo:
        """Tell our version."""
        return plugin_pb2.PluginInfo(version=HOST_VERSION)

    def GetRequiredPackages(
        self, request: language_pb2.GetRequiredPackagesRequest, context: grpc.ServicerContext
    ) -> language_pb2.GetRequiredPackagesResponse:
        """Ask for no package ahead of the run."""
        return language_pb2.GetRequiredPackagesResponse()

    def GetRequiredPlugins(
        self, request: language_pb2.GetRequiredPluginsRequest, context: grpc.ServicerContext
    ) -> language_pb2.GetRequiredPluginsResponse:
        """Ask for no plugin ahead of the run."""
        return language_pb2.GetRequiredPluginsResponse()

    def GetProgramDependencies(
        self, request: language_pb2.GetProgramDependenciesRequest, context: grpc.ServicerContext
    ) -> language_pb2.GetProgramDependenciesResponse:
        """List no dependencies: only `pulumi about` shows them."""
        return language_pb2.GetProgramDependenciesResponse()

    def About(
        self, request: language_pb2.AboutRequest, context: grpc.ServicerContext
    ) -> language_pb2.AboutResponse:
        """Tell which Python this host runs on."""
        return language_pb2.AboutResponse(
            executable=sys.executable, version=platform.python_version()
        )

    def InstallDependencies(
        self, request: language_pb2.InstallDependenciesRequest, context: grpc.ServicerContext
    ) -> Iterator[language_pb2.InstallDependenciesResponse]:
        """Check that the environment is there; this host does not make one."""
        default = PLUGIN_VIRTUALENV if request.is_plugin else ""
        folder = Path(request.info.program_directory or request.directory)
        try:
            python = find_interpreter(folder, runtime_options(request.info), os.environ, default)
        except StartError as problem:
            context.abort(grpc.StatusCode.FAILED_PRECONDITION, str(problem))
        text = f"{folder}: {python.command} is there; the stand-in Python host installs nothing\n"
        yield language_pb2.InstallDependenciesResponse(stdout=text.encode())

    def Cancel(self, request: empty_pb2.Empty, context: grpc.ServicerContext) -> empty_pb2.Empty:
        """Do nothing: the engine cancels each call of its own."""
        return empty_pb2.Empty()

    def Run(
        self, request: language_pb2.RunRequest, context: grpc.ServicerContext
    ) -> language_pb2.RunResponse:
        """Run a program to its end."""
        try:
            python = find_interpreter(
                Path(request.info.root_directory), runtime_options(request.info), os.environ
            )
            command = program_command(request, python, self.engine)
        except StartError as problem:
            return language_pb2.RunResponse(error=str(problem))
        # What the program prints goes where ours goes: the engine shows it to the user.
        child = self.children.start(
            command,
            cwd=Path(request.info.program_directory),
            environ=program_environ(request, python, os.environ),
            piped=False,
        )
        on_end(context, lambda: self.children.stop(child))
        return run_response(child.wait())

    def RunPlugin(
        self, request: language_pb2.RunPluginRequest, context: grpc.ServicerContext
    ) -> Iterator[Response]:
        """Run a plugin or a policy pack, and send on what it prints."""
        run = self._run_pack if request.kind == "analyzer" else self._run_plugin
        try:
            yield from run(request, context)
        except StartError as problem:
            context.abort(grpc.StatusCode.FAILED_PRECONDITION, str(problem))

    def _run_plugin(
        self, request: language_pb2.RunPluginRequest, context: grpc.ServicerContext
    ) -> Iterator[Response]:
        folder = Path(request.info.program_directory)
        python = find_interpreter(
            folder, runtime_options(request.info), os.environ, PLUGIN_VIRTUALENV
        )
        if not (folder / "__main__.py").is_file():
            raise StartError(f"the plugin in {folder} has no __main__.py")
        child = self.children.start(
            [python.command, "-u", str(folder), *request.args],
            cwd=Path(request.pwd or folder),
            environ=python.environ(plugin_environ(request)),
        )
        on_end(context, lambda: self.children.stop(child))
        responses: SimpleQueue[Response | None] = SimpleQueue()
        follow(child, responses.put)
        yield from iter(responses.get, None)

    def _run_pack(
        self, request: language_pb2.RunPluginRequest, context: grpc.ServicerContext
    ) -> Iterator[Response]:
        folder = Path(request.info.program_directory)
        python = find_interpreter(folder, runtime_options(request.info), os.environ)
        if not (folder / "__main__.py").is_file():
            raise StartError(f"the policy pack in {folder} has no __main__.py")
        responses: SimpleQueue[Response | None] = SimpleQueue()

        def emit(stream: str, line: bytes) -> None:
            responses.put(Response(stdout=line) if stream == "stdout" else Response(stderr=line))

        def launch(stack: Mapping[str, str]) -> PackProcess:
            environ = {**plugin_environ(request), **stack}
            engine = request.args[0] if request.args else self.engine
            return PackProcess(folder, engine, python, environ, self.children, emit)

        proxy = PackProxy(launch)

        def end() -> None:
            proxy.stop()
            responses.put(None)

        on_end(context, end)
        yield Response(stdout=f"{proxy.port}\n".encode())
        yield from iter(responses.get, None)


def on_end(context: grpc.ServicerContext, callback: Callable[[], None]) -> None:
    """Call back when a call ends, also when it has ended already."""
    if not context.add_callback(callback):
        callback()


def parse(argv: Sequence[str]) -> str:
    """Return the engine's address; the flags are for hosts that log and trace."""
    parser = argparse.ArgumentParser(prog="pulumi-language-python")
    parser.add_argument("engine", nargs="?", default="")
    return str(parser.parse_known_args(argv)[0].engine)


def main(argv: Sequence[str]) -> NoReturn:
    """Serve until the engine says stop, or is gone."""
    children = Children()

    def end() -> NoReturn:
        children.stop_all()
        # Calls that wait for a child would hold up a normal exit.
        os._exit(0)

    signal.signal(signal.SIGTERM, signal.default_int_handler)
    server = grpc.server(ThreadPoolExecutor(HOST_THREADS), options=CHANNEL_OPTIONS)
    language_pb2_grpc.add_LanguageRuntimeServicer_to_server(
        LanguageHost(parse(argv), children), server
    )
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    when_orphaned(end)
    try:
        print(port, flush=True)
        server.wait_for_termination()
    except KeyboardInterrupt:
        pass
    end()
