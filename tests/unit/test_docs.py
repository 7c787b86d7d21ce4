"""Generated pages are current, and say what a reader needs."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path

import pytest

from gpusize.surroundings import STACK_KEYS
from gpusize_policies.registry import RULES
from gpusize_policies.setup import SETTINGS_POLICY
from tools import build_docs

ROOT = Path(__file__).parents[2]
PAGES = {
    path.relative_to(ROOT).as_posix(): cache(write) for path, write in build_docs.pages().items()
}


@pytest.mark.parametrize("page", PAGES)
def test_a_generated_page_is_current(page: str) -> None:
    assert (ROOT / page).read_text(encoding="utf-8") == PAGES[page](), "run `make docs`"


def test_no_page_is_left_of_a_rule_that_is_gone() -> None:
    pages = {path.relative_to(ROOT).as_posix() for path in (ROOT / "docs/rules").glob("*.md")}
    assert pages <= set(PAGES)


def test_every_rule_is_in_the_index() -> None:
    index = PAGES["docs/rules/README.md"]()
    assert all(f"({Path(rule.docs).name})" in index for rule in RULES)


def test_the_page_of_the_component_has_every_name() -> None:
    page = PAGES["docs/component.md"]()
    schema = json.loads((ROOT / "plugin/gpusize/schema.json").read_text(encoding="utf-8"))
    component = schema["resources"]["gpusize:index:GpuWorkload"]
    names = {*component["inputProperties"], *component["properties"]}
    names |= {f"gpusize:{key}" for key in STACK_KEYS} | {SETTINGS_POLICY}
    assert {name for name in names if f"`{name}`" not in page} == set()
    targets = {f"#{token.rsplit(':', 1)[1].lower()}" for token in schema["types"]}
    assert set(re.findall(r"\]\((#[^)]+)", page)) == targets


@pytest.mark.parametrize("page", [page for page in PAGES if page.endswith(".md")])
def test_links_of_generated_pages_lead_somewhere(page: str) -> None:
    for target in re.findall(r"\]\(([^)#]+)", PAGES[page]()):
        if not target.startswith("http"):
            assert (ROOT / page).parent.joinpath(target).exists(), target


BY_HAND = sorted(
    path.relative_to(ROOT).as_posix()
    for place in (".", "docs", "docs/adr", "examples", "catalog/gpusize_catalog")
    for path in (ROOT / place).glob("*.md")
    if path.relative_to(ROOT).as_posix() not in PAGES
)


@pytest.mark.parametrize("page", BY_HAND)
def test_links_of_pages_by_hand_lead_somewhere(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#]+)", text):
        if not target.startswith("http"):
            assert (ROOT / page).parent.joinpath(target).exists(), target


def test_every_decision_has_a_number_and_is_in_the_index() -> None:
    index = (ROOT / "docs/README.md").read_text(encoding="utf-8")
    pages = sorted((ROOT / "docs/adr").glob("*.md"))
    for number, path in enumerate(pages, start=1):
        title = path.read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ")
        assert path.name.startswith(f"{number:04}-")
        assert title.startswith(f"{number}. ")
        assert f"[{number}](adr/{path.name}) | {title.partition('. ')[2]} |" in index


def test_every_example_is_in_its_index() -> None:
    index = (ROOT / "examples/README.md").read_text(encoding="utf-8")
    folders = {path.parent.name for path in (ROOT / "examples").glob("*/Pulumi.yaml")}
    assert set(re.findall(r"^\| \[([^]]+)\]", index, re.MULTILINE)) == folders


def test_the_table_of_rooms_names_every_module() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    table = text.split("| room of `plugin/gpusize/` |")[1].split("\n\n")[0]
    rooms = [room for row in table.splitlines()[2:] for room in row.split("|")[1].split()]
    here = ROOT / "plugin/gpusize"
    modules = {path.stem for path in here.glob("*.py") if path.stem != "__init__"}
    folders = {f"{path.parent.name}/" for path in here.glob("*/__init__.py")}
    assert sorted(room.strip("`") for room in rooms) == sorted(modules | folders)
