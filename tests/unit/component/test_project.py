"""Where a program lies: nearest project, project of a name."""

from __future__ import annotations

import pytest

from gpusize.project import find_project, project_folder


@pytest.fixture
def tree(tmp_path):
    for name in ("one", "two"):
        (tmp_path / name / "app" / "deep").mkdir(parents=True)
        (tmp_path / name / "Pulumi.yaml").write_text(f"runtime: python\nname: {name} # ours\n")
    return tmp_path


def test_nearest_project_above(tree):
    assert project_folder(tree / "one" / "app" / "deep") == tree / "one"


def test_a_folder_without_a_project_is_itself(tmp_path):
    assert project_folder(tmp_path) == tmp_path


def test_only_the_project_of_that_name_is_taken(tree):
    starts = [tree / "one" / "app", tree / "two" / "app"]
    assert find_project("two", starts) == tree / "two"
    assert find_project("three", starts) is None


@pytest.mark.parametrize("line", ['name: "app"', "name: 'app'", "'name': app", '"name": "app",'])
def test_names_in_quotes(tmp_path, line):
    (tmp_path / "Pulumi.yaml").write_text(f"{line}\nruntime: yaml\n")
    assert find_project("app", [tmp_path]) == tmp_path


def test_unreadable_projects_are_passed_over(tmp_path):
    (tmp_path / "Pulumi.yaml").write_bytes(b"name: \xff\xfe\n")
    assert find_project("app", [tmp_path]) is None
