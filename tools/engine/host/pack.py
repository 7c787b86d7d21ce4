"""A policy pack behind a proxy.

The engine tells the stack, the project and the configuration only after the pack answers on a
port, while the pack's Python code reads them from its environment at start. So the proxy answers
first, learns them, starts the pack with them, and from then on passes every call through.
"""

from __future__ import annotations

import json
import threading
from collections import deque
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import grpc
from pulumi.runtime.proto import analyzer_pb2

from tools.engine.host.interpreter import Interpreter, StartError
from tools.engine.host.processes import Children, pump

# Pulumi's own limit: one message may hold the whole stack.
MESSAGE_BYTES = 400 * 1024 * 1024
CHANNEL_OPTIONS = [
    ("grpc.max_receive_message_length", MESSAGE_BYTES),
    ("grpc.max_send_message_length", MESSAGE_BYTES),
]
# The engine analyses many resources at once.
PROXY_THREADS = 32

Emit = Callable[[str, bytes], None]


def stack_environ(request: analyzer_pb2.AnalyzerStackConfigureRequest) -> dict[str, str]:
    """Return what a pack reads from its environment about the stack it judges."""
    return {
        "PULUMI_PROJECT": request.project,
        "PULUMI_STACK": request.stack,
        "PULUMI_ORGANIZATION": request.organization,
        "PULUMI_DRY_RUN": "true" if request.dry_run else "false",
        "PULUMI_CONFIG": json.dumps(dict(request.config)),
        "PULUMI_CONFIG_SECRET_KEYS": json.dumps(list(request.config_secret_keys)),
    }


def parse_port(line: bytes, folder: Path) -> int:
    """Read the port a pack prints first, or say what it printed instead."""
    text = line.decode(errors="replace").strip()
    if text.isdecimal():
        return int(text)
    raise StartError(
        f"the policy pack in {folder} printed {text!r} where its port should be: "
        "while it loads it must not write to standard output (standard error is fine)"
    )


class PackProcess:
    """One running pack."""

    def __init__(
        self,
        folder: Path,
        engine: str,
        interpreter: Interpreter,
        environ: Mapping[str, str],
        children: Children,
        emit: Emit,
    ) -> None:
        """Start the pack and wait until it serves."""
        self._children = children
        self._last_words: deque[bytes] = deque(maxlen=1)
        command = [interpreter.command, "-u", "-m", "pulumi.policy", engine, str(folder)]
        self.child = children.start(command, cwd=folder, environ=interpreter.environ(environ))
        assert self.child.stdout is not None and self.child.stderr is not None

        def heard(line: bytes) -> None:
            if line.strip():
                self._last_words.append(line)
            emit("stderr", line)

        errors = pump(self.child.stderr, heard)
        line = self.child.stdout.readline()
        try:
            if not line:
                errors.join()
                raise StartError(self._epitaph(folder))
            self.port = parse_port(line, folder)
        except StartError:
            children.stop(self.child)
            self.child.stdout.close()
            raise
        pump(self.child.stdout, lambda line: emit("stdout", line))
        self.channel = grpc.insecure_channel(f"127.0.0.1:{self.port}", options=CHANNEL_OPTIONS)

    def _epitaph(self, folder: Path) -> str:
        words = b"".join(self._last_words).decode(errors="replace").strip()
        text = f"the policy pack in {folder} ended with exit code {self.child.wait()}"
        return f"{text} before it served" + (f": {words}" if words else "")

    def call(self, method: str, request: bytes) -> bytes:
        """Pass one call to the pack, undecoded."""
        rpc: grpc.UnaryUnaryMultiCallable[bytes, bytes] = self.channel.unary_unary(method)
        return rpc(request)

    def stop(self) -> None:
        """End the pack."""
        self.channel.close()
        self._children.stop(self.child)


class PackProxy(grpc.GenericRpcHandler):
    """Serves a pack to the engine, and starts it once the engine told of the stack."""

    def __init__(self, launch: Callable[[Mapping[str, str]], PackProcess]) -> None:
        """Serve on a free port; `launch` starts the pack with more environment."""
        self._launch = launch
        self._pack: PackProcess | None = None
        self._stopped = False
        self._lock = threading.Lock()
        self._server = grpc.server(ThreadPoolExecutor(PROXY_THREADS), options=CHANNEL_OPTIONS)
        self._server.add_generic_rpc_handlers((self,))
        self.port = self._server.add_insecure_port("127.0.0.1:0")
        self._server.start()

    def service(
        self, handler_call_details: grpc.HandlerCallDetails
    ) -> grpc.RpcMethodHandler[bytes, bytes]:
        """Give every method the one handler that passes bytes on."""
        method = handler_call_details.method

        def handle(request: bytes, context: grpc.ServicerContext) -> bytes:
            return self._answer(method, request, context)

        return grpc.unary_unary_rpc_method_handler(handle)

    def _answer(self, method: str, request: bytes, context: grpc.ServicerContext) -> bytes:
        name = method.rpartition("/")[2]
        if name == "Handshake" or (name == "Cancel" and self._pack is None):
            return b""  # an empty message: neither is worth starting a pack
        environ: dict[str, str] = {}
        if name == "ConfigureStack":
            environ = stack_environ(analyzer_pb2.AnalyzerStackConfigureRequest.FromString(request))
        try:
            return self._started(environ).call(method, request)
        except StartError as problem:
            context.abort(grpc.StatusCode.FAILED_PRECONDITION, str(problem))
        except grpc.RpcError as error:
            context.abort(error.code(), error.details() or "")

    def _started(self, environ: Mapping[str, str]) -> PackProcess:
        # `pulumi policy analyze` never tells of a stack: the first other call starts the pack.
        with self._lock:
            if self._stopped:
                raise StartError("the policy pack was stopped")
            if self._pack is None:
                self._pack = self._launch(environ)
            return self._pack

    def stop(self) -> None:
        """End the pack and stop serving."""
        self._server.stop(None)
        with self._lock:
            self._stopped = True
            if self._pack is not None:
                self._pack.stop()
