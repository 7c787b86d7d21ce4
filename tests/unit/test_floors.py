"""A floor imports only what lies below it, and everything but the shells works without Pulumi."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
FLOORS = {
    "gpusize_catalog": ROOT / "catalog",
    "gpusize": ROOT / "plugin",
    "gpusize_policies": ROOT / "policies",
}
"""Packages from the bottom up."""
ORDER = list(FLOORS)
PULUMI_SHELLS = {"gpusize.component", "gpusize.host", "gpusize.making"}
POLICY_SHELLS = {"gpusize_policies.pack"}
OUTSIDE = ("pulumi", "pulumi_aws", "pulumi_policy", "boto3", "botocore")


def _modules() -> Iterator[tuple[str, Path]]:
    for package, root in FLOORS.items():
        for path in sorted((root / package).rglob("*.py")):
            parts = path.relative_to(root).with_suffix("").parts
            yield ".".join(parts).removesuffix(".__init__"), path


MODULES = dict(_modules())


@cache
def _nodes(module: str) -> tuple[ast.AST, ...]:
    return tuple(ast.walk(ast.parse(MODULES[module].read_text(encoding="utf-8"))))


@cache
def _imports(module: str) -> frozenset[str]:
    """Every module named by an import, inside functions and type checks too."""
    found: set[str] = set()
    for node in _nodes(module):
        if isinstance(node, ast.Import):
            found.update(name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module} imports relatively"
            found.add(node.module or "")
    return frozenset(found)


def test_all_floors_are_seen() -> None:
    assert {name.split(".")[0] for name in MODULES} == set(ORDER)


def test_a_module_imports_no_floor_above_its_own() -> None:
    for module in MODULES:
        floor = ORDER.index(module.split(".")[0])
        named = {name.split(".")[0] for name in _imports(module)}
        assert not named & set(ORDER[floor + 1 :]), module


def test_only_the_shells_import_pulumi() -> None:
    for module in MODULES:
        named = {name.split(".")[0] for name in _imports(module)} & set(OUTSIDE)
        allowed = {"pulumi"} if module in PULUMI_SHELLS | POLICY_SHELLS else set()
        if module in POLICY_SHELLS:
            allowed.add("pulumi_policy")
        assert named <= allowed, module


def test_everything_else_imports_where_pulumi_is_not_installed() -> None:
    rest = [name for name in MODULES if name not in PULUMI_SHELLS | POLICY_SHELLS]
    program = f"""
import importlib, sys
for name in {OUTSIDE!r}:
    sys.modules[name] = None
for name in {rest!r}:
    importlib.import_module(name)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


SIZING = ("gpusize_catalog", "gpusize.memory", "gpusize.constraints", "gpusize_policies.rules")
CLOCKS = {"date.today", "datetime.today", "datetime.now", "time.time", "datetime.utcnow"}
ENVIRONMENT = ("os.environ", "os.getenv")
LAST_WORDS = {name.split(".")[-1] for name in (*CLOCKS, *ENVIRONMENT)}


def test_facts_sizing_and_rules_read_no_clock_environment_or_randomness() -> None:
    modules = [name for name in MODULES if name.startswith(SIZING)]
    assert len(modules) > len(SIZING)
    for module in modules:
        imported = _imports(module)
        assert not imported & {"random", "secrets", "socket", "urllib.request"}, module
        for node in _nodes(module):
            if isinstance(node, ast.Attribute) and node.attr in LAST_WORDS:
                named = ast.unparse(node)
                assert not any(named.endswith(clock) for clock in CLOCKS), (module, named)
                assert named not in ENVIRONMENT, (module, named)
