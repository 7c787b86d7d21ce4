"""How the engine is found, built and hosted: all that needs no engine to be shown."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from importlib import util
from pathlib import Path

import grpc
import pytest
from google.protobuf import struct_pb2
from pulumi.runtime import rpc
from pulumi.runtime.proto import analyzer_pb2, language_pb2, provider_pb2

from tests.fakes.aws import schema
from tests.fakes.aws.provider import Aws, to_dict, to_struct
from tools.engine import build, environment, find, preview
from tools.engine.host import pack, processes, program, server
from tools.engine.host.interpreter import Interpreter, StartError, find_interpreter

GO_MOD = """\
module example.invalid/engine

go 1.26.6

require (
	github.com/pulumi/pulumi/pkg/v3 v3.274.1
	github.com/pulumi/pulumi/sdk/v3 v3.274.1
)
"""


def script(path: Path, body: str = "") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return path


def struct(**values) -> struct_pb2.Struct:
    return to_struct(values)


# --- an installed CLI


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("v3.274.1", (3, 274, 1)),
        ("go1.26.8", (1, 26, 8)),
        ("3.300.0-dev.1+abc", (3, 300, 0)),
        ("devel", None),
    ],
)
def test_version_is_read_from_what_tools_say(text, version):
    assert find.parse_version(text) == version


def installed(folder: Path, version: str, *hosts: str) -> dict[str, str]:
    script(folder / "pulumi", f"echo {version}")
    for host in hosts:
        script(folder / host)
    return {"PATH": str(folder)}


def test_new_enough_cli_with_its_hosts_is_used(tmp_path):
    environ = installed(tmp_path / "bin", "v3.255.0", *find.HOSTS)

    engine, version = find.installed_engine(tmp_path, environ)

    assert engine == find.Engine(tmp_path / "bin" / "pulumi", installed=True)
    assert version == "v3.255.0"


@pytest.mark.parametrize(
    ("version", "hosts", "reason"),
    [
        ("v3.254.9", find.HOSTS, "v3.254.9 is older than 3.255"),
        ("v3.274.1", find.HOSTS[1:], "it comes without pulumi-language-python"),
        ("nonsense", find.HOSTS, "it does not tell its version"),
    ],
)
def test_unusable_cli_is_refused_with_a_reason(tmp_path, version, hosts, reason):
    engine, remark = find.installed_engine(tmp_path, installed(tmp_path / "bin", version, *hosts))

    assert engine is None
    assert reason in remark


def test_hosts_lie_beside_the_target_of_a_linked_cli(tmp_path):
    installed(tmp_path / "cellar", "v3.274.1", *find.HOSTS)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "pulumi").symlink_to(tmp_path / "cellar" / "pulumi")

    assert find.installed_engine(tmp_path, {"PATH": str(tmp_path / "bin")})[0]


def test_engine_built_here_does_not_count_as_installed(tmp_path):
    environ = installed(find.built_folder(tmp_path), "v3.274.1", *find.HOSTS)

    assert find.installed_engine(tmp_path, environ) == (None, "")
    assert find.find_engine(tmp_path, environ) == find.Engine(
        find.built_folder(tmp_path) / "pulumi", installed=False
    )


def test_half_an_engine_is_none(tmp_path):
    script(find.built_folder(tmp_path) / "pulumi")

    assert find.find_engine(tmp_path, {"PATH": ""}) is None


# --- building one


def test_versions_come_from_the_module_file():
    assert build.required_version(GO_MOD, "github.com/pulumi/pulumi/pkg/v3") == "v3.274.1"
    assert build.required_go(GO_MOD) == (1, 26, 6)


@pytest.mark.parametrize("tool", build.TOOLS, ids=lambda tool: tool.name)
def test_shipped_module_files_pin_each_tool(tool):
    pins = tool.go_mod(find.ROOT).read_text()

    assert build.required_version(pins, tool.module).startswith("v")
    assert build.required_go(pins) >= (1, 26)
    assert f"tool {tool.package}" in pins


@pytest.mark.parametrize(
    ("version", "toolchain", "serves"),
    [
        ("go1.26.6", "local", True),
        ("go1.26.5", "local", False),
        ("go1.22.0", "auto", True),  # fetches the Go that go.mod asks for
        ("go1.20.0", "auto", False),
    ],
)
def test_go_serves_when_new_enough_or_able_to_update(version, toolchain, serves):
    assert build.Go("go", version, toolchain).serves((1, 26, 6)) is serves


def fake_clone(tmp_path: Path, go: str) -> tuple[Path, dict[str, str]]:
    """A clone with module files and a `go` that does what the script says on `go build`."""
    root = tmp_path / "clone"
    for tool in build.TOOLS:
        folder = tool.go_mod(root).parent
        folder.mkdir(parents=True)
        (folder / "go.mod").write_text(f"go 1.26\nrequire {tool.module} v3.274.1\n")
        (folder / "go.sum").write_text("")
    answer = json.dumps({"GOVERSION": "go1.26.8", "GOTOOLCHAIN": "local"})
    body = f"if [ $1 = env ]; then echo '{answer}'; exit; fi\necho $* >> {tmp_path}/log\n{go}"
    script(tmp_path / "bin" / "go", body)
    return root, {"PATH": f"{tmp_path / 'bin'}{os.pathsep}/usr/bin{os.pathsep}/bin"}


WORKING_GO = 'while [ "$1" != -o ]; do shift; done; echo built > "$2"; chmod +x "$2"'


def test_build_makes_a_whole_engine_once(tmp_path, capsys):
    root, environ = fake_clone(tmp_path, WORKING_GO)

    assert build.main(root, environ) == 0
    assert build.main(root, environ) == 0

    assert find.built_engine(root)
    builds = (tmp_path / "log").read_text().splitlines()
    assert [line.split()[-1] for line in builds] == [tool.package for tool in build.TOOLS]
    assert "version.Version=v3.274.1" in builds[0]
    assert capsys.readouterr().out.splitlines()[-1] == (
        "engine: pulumi v3.274.1, pulumi-language-yaml v3.274.1 in .engine/bin"
    )


def test_changed_pins_build_that_tool_again(tmp_path):
    root, environ = fake_clone(tmp_path, WORKING_GO)
    build.main(root, environ)
    build.TOOLS[1].go_mod(root).with_name("go.sum").write_text("changed")

    build.main(root, environ)

    packages = [line.split()[-1] for line in (tmp_path / "log").read_text().splitlines()]
    assert packages == [build.TOOLS[0].package, build.TOOLS[1].package, build.TOOLS[1].package]


def test_broken_build_leaves_no_half_binary(tmp_path, capsys):
    root, environ = fake_clone(tmp_path, f"{WORKING_GO}; exit 2")

    assert build.main(root, environ) == 1

    assert list(find.built_folder(root).iterdir()) == []
    assert "go build of pulumi failed with exit code 2" in capsys.readouterr().err


@pytest.mark.parametrize("go", [None, '{"GOVERSION": "go1.20", "GOTOOLCHAIN": "auto"}'])
def test_without_cli_and_go_the_install_page_is_named(tmp_path, capsys, go):
    root, _ = fake_clone(tmp_path, "")
    environ = {"PATH": str(tmp_path / "other")}
    if go:
        script(tmp_path / "other" / "go", f"echo '{go}'")

    assert build.main(root, environ) == build.EXIT_NO_ENGINE

    told = capsys.readouterr().err
    assert find.INSTALL_PAGE in told
    assert ("go1.20 is too old" if go else "Go is not installed") in told


def test_installed_cli_builds_nothing(tmp_path, capsys):
    environ = installed(tmp_path / "bin", "v3.280.0", *find.HOSTS)

    assert build.main(tmp_path, environ) == 0

    assert capsys.readouterr().out == "engine: the installed Pulumi CLI v3.280.0\n"
    assert not (tmp_path / ".engine").exists()


def test_host_script_names_no_place(tmp_path):
    build.install_host(tmp_path)

    text = (tmp_path / "pulumi-language-python").read_text()
    assert str(find.ROOT) not in text
    assert os.access(tmp_path / "pulumi-language-python", os.X_OK)


def test_host_script_tells_when_the_environment_is_missing(tmp_path):
    folder = tmp_path / "a clone" / ".engine" / "bin"
    folder.mkdir(parents=True)
    build.install_host(folder)

    done = subprocess.run(
        [folder / "pulumi-language-python", "127.0.0.1:1"], capture_output=True, text=True
    )

    assert done.returncode == 1
    assert "run `make setup`" in done.stderr


# --- which Python


def make_venv(folder: Path) -> Path:
    return script(folder / "bin" / "python")


def test_virtualenv_is_relative_to_the_project(tmp_path):
    python = make_venv(tmp_path / ".venv")

    found = find_interpreter(tmp_path / "plugin", {"virtualenv": "../.venv"}, {})

    assert found == Interpreter(str(python), tmp_path / ".venv")
    environ = found.environ({"PATH": "/usr/bin", "PYTHONHOME": "/elsewhere"})
    assert environ == {
        "PATH": f"{tmp_path / '.venv' / 'bin'}{os.pathsep}/usr/bin",
        "VIRTUAL_ENV": str(tmp_path / ".venv"),
    }


def test_plugins_default_to_their_own_venv(tmp_path):
    python = make_venv(tmp_path / "venv")

    assert find_interpreter(tmp_path, {}, {}, "venv").command == str(python)


def test_missing_virtualenv_is_told_with_its_place(tmp_path):
    with pytest.raises(StartError, match=re.escape(str(tmp_path / "venv" / "bin" / "python"))):
        find_interpreter(tmp_path, {}, {}, "venv")


def test_other_toolchains_are_refused(tmp_path):
    with pytest.raises(StartError, match="toolchain: pip"):
        find_interpreter(tmp_path, {"toolchain": "poetry"}, {})


def test_without_virtualenv_the_shells_python_runs(tmp_path):
    script(tmp_path / "python3")
    script(tmp_path / "python3.11")
    path = {"PATH": str(tmp_path)}

    assert find_interpreter(tmp_path, {}, path).command == str(tmp_path / "python3")
    wanted = find_interpreter(tmp_path, {}, {**path, "PULUMI_PYTHON_CMD": "python3.11"})
    assert wanted.command == str(tmp_path / "python3.11")
    with pytest.raises(StartError, match="no python3 on PATH"):
        find_interpreter(tmp_path, {}, {"PATH": str(tmp_path / "empty")})


# --- the language host


def run_request(folder: Path, **more) -> language_pb2.RunRequest:
    info = language_pb2.ProgramInfo(
        root_directory=str(folder), program_directory=str(folder), entry_point="."
    )
    request = language_pb2.RunRequest(
        info=info, project="app", stack="dev", monitor_address="m:1", parallel=8, **more
    )
    return request


def test_program_is_run_with_all_that_the_engine_told(tmp_path):
    (tmp_path / "__main__.py").touch()
    request = run_request(tmp_path, dryRun=True, args=["--flag"], pwd="/program")

    command = server.program_command(request, Interpreter("py"), "e:2")

    assert command[:3] == ["py", "-u", program.__file__]
    read = program.parse(command[3:])
    assert (read.monitor, read.engine, read.project, read.stack) == ("m:1", "e:2", "app", "dev")
    assert (read.parallel, read.dry_run, read.pwd) == (8, "true", "/program")
    assert (read.program, read.arguments) == (str(tmp_path), ["--flag"])


def test_folder_without_main_is_told(tmp_path):
    with pytest.raises(StartError, match=r"no __main__\.py"):
        server.program_command(run_request(tmp_path), Interpreter("py"), "e:2")


def test_program_finds_its_configuration(tmp_path):
    request = run_request(tmp_path, config={"aws:region": "r"}, configSecretKeys=["app:key"])

    environ = server.program_environ(request, Interpreter("py"), {"HOME": "/h"})

    assert environ == {
        "HOME": "/h",
        "PULUMI_CONFIG": '{"aws:region": "r"}',
        "PULUMI_CONFIG_SECRET_KEYS": '["app:key"]',
    }


@pytest.mark.parametrize(
    ("code", "bail", "error"),
    [
        (0, False, ""),
        (program.EXIT_TOLD, True, ""),
        (1, False, "the Python program exited with code 1"),
        (-signal.SIGKILL, False, "the Python program was ended by SIGKILL"),
    ],
)
def test_exit_code_of_a_program_is_translated(code, bail, error):
    response = server.run_response(code)

    assert (response.bail, response.error) == (bail, error)


def test_runtime_options_are_read_from_the_project():
    info = language_pb2.ProgramInfo(options=struct(virtualenv="../.venv"))

    assert server.runtime_options(info) == {"virtualenv": "../.venv"}
    assert server.runtime_options(language_pb2.ProgramInfo()) == {}


def test_plugin_environment_wins_over_ours(monkeypatch):
    monkeypatch.setenv("PULUMI_HOME", "ours")
    request = language_pb2.RunPluginRequest(env=["PULUMI_HOME=theirs", "A=b=c"])

    environ = server.plugin_environ(request)

    assert (environ["PULUMI_HOME"], environ["A"]) == ("theirs", "b=c")


def test_engine_address_is_found_among_flags():
    assert server.parse(["--logtostderr", "-v=9", "127.0.0.1:5"]) == "127.0.0.1:5"
    assert server.parse([]) == ""


def test_traceback_starts_at_the_users_program(tmp_path):
    (tmp_path / "__main__.py").write_text("def f():\n    raise ValueError('mine')\nf()\n")

    with pytest.raises(ValueError, match="mine") as caught:
        program.run_file(str(tmp_path))

    text = program.own_traceback(caught.value)
    assert text.splitlines()[1].strip().startswith(f'File "{tmp_path / "__main__.py"}", line 3')
    assert "runpy" not in text


def test_program_without_sdk_is_told_where_it_looked():
    bare = subprocess.run(
        [sys.executable, "-S", program.__file__], capture_output=True, text=True, env={}
    )

    assert bare.returncode == 1
    assert bare.stderr.startswith("No module named 'pulumi' in ")


# --- a policy pack behind its proxy


def test_pack_reads_the_stack_from_its_environment():
    request = analyzer_pb2.AnalyzerStackConfigureRequest(
        project="app", stack="dev", organization="org", dry_run=True, config={"aws:region": "r"}
    )

    assert pack.stack_environ(request) == {
        "PULUMI_PROJECT": "app",
        "PULUMI_STACK": "dev",
        "PULUMI_ORGANIZATION": "org",
        "PULUMI_DRY_RUN": "true",
        "PULUMI_CONFIG": '{"aws:region": "r"}',
        "PULUMI_CONFIG_SECRET_KEYS": "[]",
    }


def test_print_in_place_of_the_port_is_told(tmp_path):
    assert pack.parse_port(b"4711\n", tmp_path) == 4711
    with pytest.raises(StartError, match="printed 'hello' where its port should be"):
        pack.parse_port(b"hello\n", tmp_path)


class FakePack:
    """Stands for a started pack: remembers its environment, answers the method's name."""

    def __init__(self, environ):
        self.environ = environ
        self.stopped = False

    def call(self, method, request):
        return method.encode() + request

    def stop(self):
        self.stopped = True


@pytest.fixture
def proxied():
    """A proxy, a function that calls through it, and the packs it started."""
    started: list[FakePack] = []

    def launch(environ):
        if "broken" in started:
            raise StartError("the pack ended: no module named x")
        started.append(FakePack(environ))
        return started[-1]

    proxy = pack.PackProxy(launch)
    with grpc.insecure_channel(f"127.0.0.1:{proxy.port}") as channel:
        yield lambda method, body=b"": channel.unary_unary(f"/a/{method}")(body), started
    proxy.stop()
    assert all(made == "broken" or made.stopped for made in started)


def test_proxy_starts_the_pack_when_it_knows_the_stack(proxied):
    call, started = proxied
    request = analyzer_pb2.AnalyzerStackConfigureRequest(project="app").SerializeToString()

    assert call("Handshake") == b""
    assert call("Cancel") == b""
    assert started == []
    assert call("ConfigureStack", request) == b"/a/ConfigureStack" + request
    assert call("Analyze") == b"/a/Analyze"
    assert [made.environ["PULUMI_PROJECT"] for made in started] == ["app"]


def test_proxy_starts_the_pack_without_a_stack_when_none_is_told(proxied):
    call, started = proxied

    assert call("GetAnalyzerInfo") == b"/a/GetAnalyzerInfo"
    assert [made.environ for made in started] == [{}]


def test_proxy_tells_why_a_pack_does_not_start(proxied):
    call, started = proxied
    started.append("broken")

    with pytest.raises(grpc.RpcError) as caught:
        call("GetAnalyzerInfo")

    assert caught.value.code() is grpc.StatusCode.FAILED_PRECONDITION
    assert "no module named x" in caught.value.details()


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("import sys; sys.stderr.write('out of luck\\n'); sys.exit(3)", "code 3 .*: out of luck"),
        ("print('hello', flush=True); import time; time.sleep(60)", "printed 'hello'"),
    ],
)
def test_pack_that_does_not_serve_is_told_and_ended(tmp_path, source, words):
    (tmp_path / "fake.py").write_text(source)
    python = script(tmp_path / "python", f'exec "{sys.executable}" "{tmp_path / "fake.py"}"')
    children = processes.Children()
    heard: list[tuple[str, bytes]] = []

    with pytest.raises(StartError, match=words):
        pack.PackProcess(
            tmp_path,
            "e:1",
            Interpreter(str(python)),
            {},
            children,
            lambda *said: heard.append(said),
        )

    assert not children.running()


def test_children_end_together(tmp_path):
    children = processes.Children()
    sleeper = children.start(["sleep", "60"], cwd=tmp_path, environ=os.environ)

    children.stop_all()

    assert sleeper.returncode == -signal.SIGKILL
    with pytest.raises(RuntimeError, match="ending"):
        children.start(["sleep", "60"], cwd=tmp_path, environ=os.environ)
    for stream in (sleeper.stdout, sleeper.stderr):
        stream.close()


def test_orphan_is_told(tmp_path):
    told = tmp_path / "told"
    source = f"""
import os, subprocess, sys, time
child = '''
import pathlib, sys, time
from tools.engine.host.processes import when_orphaned
when_orphaned(pathlib.Path({str(told)!r}).touch, interval=0.01)
print("watching", flush=True)
time.sleep(20)
'''
p = subprocess.Popen([sys.executable, "-c", child], stdout=subprocess.PIPE)
p.stdout.readline()
print(p.pid, flush=True)
"""
    parent = subprocess.run(
        [sys.executable, "-c", source], cwd=find.ROOT, stdout=subprocess.PIPE, text=True, check=True
    )

    wait_for(told.exists)

    os.kill(int(parent.stdout), signal.SIGKILL)


def wait_for(condition, seconds: float = 10.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


# --- where programs run


def test_nothing_of_the_callers_accounts_reaches_the_engine(tmp_path):
    engine = find.Engine(tmp_path / "bin" / "pulumi", installed=False)
    caller = {"PULUMI_ACCESS_TOKEN": "t", "AWS_PROFILE": "p", "HOME": "/h", "PATH": "/usr/bin"}

    environ = environment.engine_environ(engine, tmp_path, caller, tmp_path)

    assert "PULUMI_ACCESS_TOKEN" not in environ and "AWS_PROFILE" not in environ
    assert environ["HOME"] == "/h"
    assert environ["PATH"].split(os.pathsep) == [
        str(tmp_path / ".venv" / "bin"),
        str(tmp_path / "bin"),
        "/usr/bin",
    ]
    assert environ["PULUMI_BACKEND_URL"] == f"file://{tmp_path / 'state'}"
    assert environ["PULUMI_CONFIG_PASSPHRASE"] == ""


def test_mirrored_program_keeps_its_relative_paths(tmp_path):
    root = tmp_path / "clone"
    (root / "examples" / "a").mkdir(parents=True)
    (root / "examples" / "b").mkdir()
    (root / "plugin").mkdir()
    (root / "plugin" / "x").write_text("plugin")
    (root / "examples" / "a" / "Pulumi.yaml").write_text("name: a")
    (root / "examples" / "a" / "Pulumi.dev.yaml").write_text("left behind")

    copy = environment.mirror(root / "examples" / "a", tmp_path / "copy", root)

    assert [file.name for file in copy.iterdir()] == ["Pulumi.yaml"]
    assert not (copy / "Pulumi.yaml").is_symlink()
    assert (copy / "../../plugin/x").read_text() == "plugin"
    assert (copy / "../b").is_dir()


def test_stand_in_aws_is_wired_where_no_plugins_are_named(tmp_path):
    project = tmp_path / "Pulumi.yaml"
    project.write_text("name: a\nruntime: yaml\n")

    environment.use_fake_aws(tmp_path)
    environment.use_fake_aws(tmp_path)

    text = project.read_text()
    assert text.startswith("name: a\nruntime: yaml\nplugins:\n")
    assert text.count("plugins:") == 1
    (path,) = re.findall(r"path: (.+)", text)
    assert os.access(Path(path) / "pulumi-resource-aws", os.X_OK)


# --- make preview

GOOD, BAD = preview.STORIES


@pytest.mark.parametrize(
    ("story", "exit_code", "text", "problem"),
    [
        (GOOD, 0, "", ""),
        (GOOD, 1, preview.MANDATORY, "should pass"),
        (BAD, 1, preview.MANDATORY, ""),
        (BAD, 0, "", "should fail"),
        (BAD, 1, "error: no such pack", "not by a finding"),
    ],
)
def test_preview_is_judged_by_exit_code_and_findings(story, exit_code, text, problem):
    verdict = story.verdict(exit_code, text)

    assert problem in verdict
    assert bool(verdict) is bool(problem)


def test_without_engine_the_examples_are_checked_by_the_command(monkeypatch, capfd, tmp_path):
    gpusize = 'echo "checked $2"; case $2 in *pinned/*) exit 1;; esac'
    script(tmp_path / "bin" / "gpusize", gpusize)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "bin" / "python"))
    monkeypatch.setattr(preview, "find_engine", lambda: None)
    monkeypatch.setattr(preview, "ROOT", tmp_path)
    monkeypatch.setattr(preview.check, "__defaults__", (tmp_path,))
    for story in preview.STORIES:
        (tmp_path / story.path).mkdir(parents=True)
        (tmp_path / story.path / "Pulumi.yaml").touch()
    (tmp_path / GOOD.path / "gpusize.yaml").touch()

    assert preview.main() == 0

    told = capfd.readouterr().out
    assert find.INSTALL_PAGE in told
    assert "checked examples/chat-8b-l4/gpusize.yaml" in told
    assert "checked examples/chat-70b-pinned/Pulumi.yaml" in told
    assert "preview: examples/chat-70b-pinned was stopped, as it should" in told


def test_missing_example_is_named(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(preview, "ROOT", tmp_path)

    assert preview.main() == 1
    assert "examples/chat-8b-l4 and examples/chat-70b-pinned" in capsys.readouterr().err


# --- the stand-in aws provider


def source_of(module: str) -> str:
    """The text of a module, without the seconds that importing it takes."""
    spec = util.find_spec("pulumi_aws")
    return (
        Path(spec.submodule_search_locations[0], *module.split(".")).with_suffix(".py").read_text()
    )


def inner_names(short) -> set[str]:
    if isinstance(short, list):
        return inner_names(short[0])
    if not isinstance(short, dict):
        return set()
    return {key.rstrip("!") for key in short}.union(*map(inner_names, short.values()))


@pytest.mark.parametrize("token", schema.load()["resources"])
def test_stand_in_knows_only_properties_that_the_real_provider_has(token):
    known = schema.load()
    resource = known["resources"][token]
    service, _, kind = token.removeprefix("aws:").partition("/")
    module = re.sub(r"(?<!^)(?=[A-Z])", "_", kind.partition(":")[2]).lower()
    own = source_of(f"{service}.{module}")
    nested = source_of(f"{service}._inputs")

    def has(text: str, name: str) -> bool:
        return f'name="{name}"' in text or f"def {name}(self)" in text

    inputs = {key.rstrip("!") for key in resource["inputs"]}
    assert [name for name in inputs | resource["outputs"].keys() if not has(own, name)] == []
    inside = set().union(*map(inner_names, resource["inputs"].values()))
    assert [name for name in inside if not has(nested, name)] == []


def test_schema_refers_to_types_it_has():
    text = json.dumps(schema.build())

    references = set(re.findall(r'"#/types/([^"]+)"', text))
    assert references == schema.build()["types"].keys()


TEMPLATE = "aws:ec2/launchTemplate:LaunchTemplate"
URN = f"urn:pulumi:dev::app::{TEMPLATE}::lt"


def create(kind: str, *, preview: bool, **inputs) -> provider_pb2.CreateResponse:
    request = provider_pb2.CreateRequest(
        urn=URN, type=kind, preview=preview, properties=to_struct(inputs)
    )
    return Aws().Create(request, None)


def test_preview_leaves_to_aws_what_aws_decides():
    outputs = to_dict(create(TEMPLATE, preview=True, name="n", instanceType="g6.xlarge").properties)

    assert outputs["instanceType"] == "g6.xlarge"
    assert {outputs[name] for name in ("arn", "latestVersion")} == {rpc.UNKNOWN}


def test_created_resource_has_id_and_outputs_the_same_each_time():
    first = create(TEMPLATE, preview=False, name="n")
    outputs = to_dict(first.properties)

    assert first == create(TEMPLATE, preview=False, name="n")
    assert re.fullmatch(r"lt-[0-9a-f]{17}", first.id)
    assert outputs["arn"] == f"arn:aws:ec2:us-east-1:123456789012:launch-template/{first.id}"
    assert outputs["latestVersion"] == 1


def test_secret_inputs_stay_secret():
    secret = {rpc._special_sig_key: rpc._special_secret_sig, "value": "hush"}
    outputs = to_dict(create(TEMPLATE, preview=False, name=secret, userData=secret).properties)

    assert outputs["userData"] == secret


def test_unlisted_types_are_made_too():
    made = create("aws:s3/bucket:Bucket", preview=False, bucket="b")

    assert made.id
    assert to_dict(made.properties)["bucket"] == "b"


def test_name_is_given_once_and_kept():
    def check(**olds) -> dict:
        request = provider_pb2.CheckRequest(
            urn=URN, name="lt", type=TEMPLATE, olds=struct(**olds), news=struct()
        )
        return to_dict(Aws().Check(request, None).inputs)

    assert check()["name"].startswith("lt-")
    assert check(name="kept")["name"] == "kept"


def test_only_changed_inputs_differ():
    def diff(**news) -> list[str]:
        request = provider_pb2.DiffRequest(old_inputs=struct(a=1, b=2), news=struct(**news))
        return list(Aws().Diff(request, None).diffs)

    assert diff(a=1, b=2) == []
    assert diff(a=1, c=3) == ["b", "c"]


def test_what_cannot_change_in_place_is_replaced():
    kind = "aws:ec2/placementGroup:PlacementGroup"

    def diff(**news):
        olds = struct(strategy="cluster", tags={})
        request = provider_pb2.DiffRequest(type=kind, old_inputs=olds, news=struct(**news))
        return Aws().Diff(request, None)

    assert list(diff(strategy="spread", tags={}).replaces) == ["strategy"]
    assert list(diff(strategy="cluster", tags={"a": "b"}).replaces) == []


@pytest.mark.parametrize("token", schema.load()["resources"])
def test_what_replaces_a_resource_is_an_input(token):
    resource = schema.load()["resources"][token]
    inputs = {key.rstrip("!") for key in resource["inputs"]}
    assert set(resource.get("replaces", ())) <= inputs


def test_functions_answer_for_the_region():
    aws = Aws()
    aws.Configure(provider_pb2.ConfigureRequest(args=struct(region="eu-west-1")), None)
    request = provider_pb2.InvokeRequest(tok="aws:index/getRegion:getRegion")

    answer = to_dict(getattr(aws.Invoke(request, None), "return"))

    assert answer["region"] == "eu-west-1"
