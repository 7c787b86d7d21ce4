"""Reading somebody else's files: values, places, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpusize import documents
from gpusize.documents import Place, parse, read
from gpusize_catalog.problems import GpuSizeError, Problem


def _problems(text: str, file: str = "f.yaml") -> tuple[Problem, ...]:
    with pytest.raises(GpuSizeError) as caught:
        parse(text, file)
    return caught.value.problems


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("8192", 8192),
        ("-3", -3),
        ("0.5", 0.5),
        ("1e3", 1000.0),
        ("true", True),
        ("False", False),
        ("~", None),
        ("", None),
        ("off", "off"),
        ("yes", "yes"),
        ("2026-11-30", "2026-11-30"),
        ("12:30", "12:30"),
        ("0x10", "0x10"),
        ("vllm@0.20", "vllm@0.20"),
        ("1.2.3", "1.2.3"),
        ("+", "+"),
        ('"8192"', "8192"),
        ("'true'", "true"),
    ],
)
def test_scalars_are_read_as_yaml_1_2(text: str, value: object) -> None:
    found = parse(f"key: {text}", "f.yaml").data["key"]
    assert found == value
    assert type(found) is type(value)


def test_keys_are_text_as_written() -> None:
    assert parse("0.10: a\ntrue: b", "f.yaml").data == {"0.10": "a", "true": "b"}


def test_every_key_and_item_has_its_place() -> None:
    document = parse("workloads:\n  chat:\n    sizes: [1, 2]\n", "f.yaml")
    assert document.places["workloads.chat"] == Place(2, 3)
    assert document.places["workloads.chat.sizes[1]"] == Place(3, 16)


def test_a_path_that_is_not_there_stands_where_its_parent_does() -> None:
    document = parse("workloads:\n  chat:\n    kind: serving\n", "f.yaml")
    assert document.place("workloads.chat.region") == Place(2, 3)
    assert document.place("elsewhere") == Place(1, 1)
    located = document.locate(Problem("workloads.chat.region", "is missing"))
    assert (located.file, located.line, located.column) == ("f.yaml", 2, 3)


def test_json_has_places_too_and_numbers_of_json() -> None:
    document = parse('{"workloads": {\n "chat": {"kind": "serving"}}}', "f.json")
    assert document.data == {"workloads": {"chat": {"kind": "serving"}}}
    assert document.places["workloads.chat"] == Place(2, 2)


def test_json_with_tabs_is_read_without_places() -> None:
    assert parse('{\t"a":\t1}', "f.json").data == {"a": 1}


def test_anchors_and_merge_keys_work_and_own_keys_win() -> None:
    text = "base: &base {kind: serving, region: us-east-1}\nchat: {<<: *base, region: eu-west-1}\n"
    assert parse(text, "f.yaml").data["chat"] == {"kind": "serving", "region": "eu-west-1"}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("a: 1\na: 2", "stands twice"),
        ("[", "no valid YAML"),
        ("a: *nowhere", "has no anchor"),
        ("a: &x [*x]", "has no anchor"),
        ("!!python/object/apply:os.system [id]", "holds"),
        ("a: !!binary aGk=", "is not supported"),
        ("--- 1\n--- 2", "more than one document"),
        ("? [a]\n: b", "must be a word"),
        ("<<: 5", "takes a mapping"),
        ("\x01", "not text"),
        ("[" * 50 + "]" * 50, "nested deeper"),
    ],
)
def test_what_is_no_plain_data_is_a_problem(text: str, says: str) -> None:
    if says == "holds":
        assert parse(text, "f.yaml").data == ["id"] or _problems(text)
        return
    (problem,) = _problems(text)
    assert says in problem.message
    assert problem.file == "f.yaml"


def test_two_repeated_keys_are_two_problems() -> None:
    found = _problems("a: 1\na: 2\nb: 1\nb: 2\n")
    assert [(problem.path, problem.line) for problem in found] == [("a", 2), ("b", 4)]


def test_repeated_keys_of_json_are_problems() -> None:
    (problem,) = _problems('{"a": 1, "a": 2}', "f.json")
    assert "'a' stands twice" in problem.message


def test_deep_json_is_a_problem() -> None:
    assert "too deep" in _problems("[" * 100_000, "f.json")[0].message


def test_too_many_values_are_a_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(documents, "MAX_VALUES", 10)
    assert "more than 10 values" in _problems("[" + "1," * 11 + "]")[0].message


def test_a_missing_file_a_directory_and_bytes_are_told(tmp_path: Path) -> None:
    binary = tmp_path / "binary.yaml"
    binary.write_bytes(b"\xff\xfe\x00")
    with_nul = tmp_path / "nul.yaml"
    with_nul.write_bytes(b"a: \0")
    says = {
        str(tmp_path / "none.yaml"): "no such file",
        str(tmp_path): "is a directory",
        str(binary): "is no text in UTF-8",
        str(with_nul): "is no text in UTF-8",
        "with\0nul": "cannot be read",
    }
    for path, text in says.items():
        with pytest.raises(GpuSizeError, match=text):
            read(path)


def test_a_large_file_is_not_read(tmp_path: Path) -> None:
    large = tmp_path / "large.yaml"
    large.write_bytes(b"#" * 101)
    with pytest.raises(GpuSizeError, match="too large"):
        read(str(large), max_bytes=100)


def test_a_byte_order_mark_is_no_part_of_the_text(tmp_path: Path) -> None:
    marked = tmp_path / "bom.yaml"
    marked.write_bytes(b"\xef\xbb\xbfa: 1\n")
    assert read(str(marked)).data == {"a": 1}


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=60), st.sampled_from(["f.yaml", "f.json", documents.STDIN_NAME]))
def test_any_text_is_data_or_a_problem(text: str, file: str) -> None:
    try:
        parse(text, file)
    except GpuSizeError as error:
        assert all(problem.file == file for problem in error.problems)


@pytest.mark.parametrize(
    "text",
    [
        "base: &a {"
        + ", ".join(f"k{n}: 1" for n in range(2000))
        + "}\nall: {<<: ["
        + ", ".join(["*a"] * 1000)
        + "]}",
        "m0: &m0 {k0: 1}\n"
        + "".join(f"m{n}: &m{n} {{<<: *m{n - 1}, k{n}: 1}}\n" for n in range(1, 2000)),
    ],
)
def test_merges_that_grow_out_of_hand_are_a_problem(text: str) -> None:
    with pytest.raises(GpuSizeError) as caught:
        parse(text, "gpusize.yaml")
    assert "merges more than" in caught.value.problems[0].message


def test_places_stay_small_below_long_keys() -> None:
    nested = f"{'k' * 1000}: {{" * 10 + "list: [" + ", ".join(["1"] * 1000) + "]" + "}" * 10
    places = parse(nested, "gpusize.yaml").places
    assert len(places) > 1000
    assert max(map(len, places)) < 500


def test_aliases_count_as_what_they_stand_for() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 9)]
    with pytest.raises(GpuSizeError) as told:
        parse("\n".join(lines), "a.yaml")
    assert "holds more than 200000 values" in str(told.value)
    lines = ["a0: &a0 {x: 1}"]
    inner = [", ".join(f"k{key}: *a{n - 1}" for key in range(9)) for n in range(1, 9)]
    lines += [f"a{n}: &a{n} {{<<: {{{inner[n - 1]}}}}}" for n in range(1, 9)]
    with pytest.raises(GpuSizeError):
        parse("\n".join(lines), "a.yaml")


def test_a_few_aliases_of_aliases_are_read() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 4)]
    assert parse("\n".join(lines), "a.yaml").data["a3"][0][0][0] == ["x"] * 10
