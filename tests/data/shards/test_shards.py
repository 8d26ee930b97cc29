"""Shards are read back as written; if a file is damaged, the error names it."""

import json
import os

import numpy as np
import pytest

from keras_bahdanau.data.shards.shards import Shards, write_card, write_shard
from keras_bahdanau.files.integrity import write_sealed_json
from keras_bahdanau.sources.text_source import TextSource
from keras_bahdanau.text.id_rows import IdRows
from keras_bahdanau.text.subwords import Subwords

PAIRS = [("ab", "x"), ("", "yx"), ("c", "z"), ("abc", ""), ("ca", "zz")]


@pytest.fixture(scope="module")
def sides():
    source, target = Subwords.train_pair(
        [("abc", "xyz")], 8, joint=False, model_type="char", normalization="identity"
    )
    return TextSource(source), target


def rows_of(pairs, sides):
    source, target = sides
    return source.rows([s for s, _ in pairs]), IdRows.encoded(target, [t for _, t in pairs])


@pytest.fixture
def shards(sides, tmp_path):
    parts = (PAIRS[:2], PAIRS[2:])
    entries = [write_shard(tmp_path, i, *rows_of(part, sides)) for i, part in enumerate(parts)]
    return write_card(tmp_path, entries, *sides, settings={"seed": 3})


def lists(rows):
    return [row.tolist() for row in np.split(rows.flat(), np.cumsum(rows.lengths)[:-1])]


def test_what_is_written_comes_back(shards, sides):
    assert (shards.source, shards.target) == sides
    assert (len(shards), shards.pairs, shards.settings) == (5, 5, {"seed": 3})
    expected = [
        [row.tolist() for row in sides[0].subwords.encode([s for s, _ in PAIRS], False)],
        [row.tolist() for row in sides[1].encode([t for _, t in PAIRS])],
    ]
    assert shards.tokens == tuple(sum(map(len, side)) for side in expected)
    found = [shards.shard(number) for number in (0, 1)]
    for side in (0, 1):
        assert lists(found[0][side]) + lists(found[1][side]) == expected[side]
        assert lists(IdRows.joined([one[side] for one in found])) == expected[side]
        assert lists(found[1][side].part(1, 3)) == expected[side][3:]
        np.testing.assert_array_equal(shards.lengths(1)[side], found[1][side].lengths)
    assert shards.entries[1] | {"sha256": 0} == {
        **{"name": "00001", "pairs": 3, "sha256": 0},
        **{"source_tokens": 12, "target_tokens": 8, "longest": [5, 4]},
    }
    shards.check()


def test_the_files_are_those_of_the_format(shards):
    names = sorted(str(path.relative_to(shards.directory)) for path in shards.directory.rglob("*"))
    parts = [f"{side}.{part}.npy" for side in ("source", "target") for part in ("ids", "lengths")]
    assert names == [
        *("00000", *(f"00000/{part}" for part in parts)),
        *("00001", *(f"00001/{part}" for part in parts)),
        "card.json",
    ]
    assert np.load(shards.directory / "00001" / "target.ids.npy").dtype == np.int32


def test_rows_that_do_not_stand_in_order_are_written_in_order(shards, sides):
    plain, _ = rows_of(PAIRS, sides)
    other, _ = rows_of([("b", "")] * 5, sides)
    mixed = plain.replaced(np.array([False, True, False, True, False]), other)
    assert lists(mixed)[::2] == lists(plain)[::2]
    assert lists(mixed)[1::2] == lists(other)[1::2]


def test_a_shard_is_replaced_as_a_whole_and_a_kill_leaves_none(shards, sides):
    (shards.directory / ".unfinished-00001").mkdir()
    entry = write_shard(shards.directory, 1, *rows_of(PAIRS[:1], sides))
    assert len(np.load(shards.directory / "00001" / "source.lengths.npy")) == 1 == entry["pairs"]
    assert not list(shards.directory.glob(".unfinished-*"))


def test_the_fingerprint_is_that_of_the_content_wherever_it_stands(shards, sides, tmp_path):
    moved = tmp_path.with_name("moved")
    shards.directory.rename(moved)
    assert Shards(moved).fingerprint == shards.fingerprint
    entries = [shards.entries[0], write_shard(moved, 1, *rows_of([("c", "z")] * 3, sides))]
    assert write_card(moved, entries, *sides).fingerprint != shards.fingerprint


def test_an_unfinished_corpus_has_no_card(tmp_path):
    with pytest.raises(FileNotFoundError, match="with the file card.json.*has none"):
        Shards(tmp_path)


def test_a_pipe_in_place_of_an_array_is_refused_at_once(shards):
    path = shards.directory / "00001" / "source.ids.npy"
    path.unlink()
    os.mkfifo(path)
    for read in (shards.check, lambda: shards.shard(1)):
        with pytest.raises(ValueError, match="must be intact.*source.ids.npy.*not a regular file"):
            read()


def test_a_check_shows_how_far_it_is(shards):
    lines = []
    shards.check(lines.append)
    assert lines[0] == "checking the shards: file 1 of 8"
    assert lines[-1] == "checking the shards: file 8 of 8" and len(lines) == 8


@pytest.mark.parametrize("name", ["source.ids.npy", "target.lengths.npy"])
def test_check_names_the_file_with_another_byte(shards, name):
    path = shards.directory / "00001" / name
    content = bytearray(path.read_bytes())
    content[-2] ^= 1
    path.write_bytes(content)
    with pytest.raises(ValueError, match=f"must be intact.*00001/{name}.*checksum"):
        shards.check()


@pytest.mark.parametrize(
    ("name", "damage", "reason"),
    [
        ("source.ids.npy", lambda path: path.unlink(), "No such file"),
        (
            "source.ids.npy",
            lambda path: path.write_bytes(path.read_bytes()[:-4]),
            "bytes of content",
        ),
        ("target.ids.npy", lambda path: path.write_bytes(b""), "expected 8 bytes|EOF"),
        ("target.ids.npy", lambda path: np.save(path, np.zeros(8)), "<f8.*the card says int32"),
        ("source.lengths.npy", lambda path: np.save(path, np.int32([1, 2, 3])), "match the ids"),
        ("source.lengths.npy", lambda path: np.save(path, np.int32([-1, 7, 5])), "match the ids"),
        ("source.lengths.npy", lambda path: np.save(path, np.array([{}] * 3)), "object|.O"),
    ],
)
def test_arrays_that_do_not_fit_the_card_are_one_clear_line(shards, name, damage, reason):
    damage(shards.directory / "00001" / name)
    with pytest.raises(ValueError, match=rf"must be intact.*00001/{name}.*{reason}") as caught:
        shards.shard(1)
    assert "\n" not in str(caught.value)
    shards.shard(0)


def test_damage_at_any_byte_gives_ids_of_the_vocabularies_or_one_clear_line(shards):
    random = np.random.default_rng(0)
    paths = sorted(shards.directory.rglob("*.*"))
    outcomes = set()
    for path in [paths[index] for index in random.integers(len(paths), size=150)]:
        whole = path.read_bytes()
        at = random.integers(len(whole))
        path.write_bytes(whole[:at] + random.bytes(4) + whole[at + 4 :])
        try:
            damaged = Shards(shards.directory)
            sizes = (damaged.source.size, damaged.target.vocabulary_size)
            for number in (0, 1):
                for rows, size in zip(damaged.part(number, 0, 2), sizes, strict=True):
                    assert rows.flat().min(initial=0) >= 0 and rows.flat().max(initial=0) < size
            outcomes.add("ids")
        except ValueError as error:
            assert "must be intact" in str(error) and "\n" not in str(error)
            outcomes.add("error")
        if path.suffix == ".npy":
            with pytest.raises(ValueError, match=f"{path.name}.*checksum"):
                shards.check()
        path.write_bytes(whole)
    assert outcomes == {"ids", "error"}


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"format": 2}, "format is 2"),
        ({"pairs": 6}, "number of pairs"),
        ({"shards": []}, "number of pairs"),
        ({"shards": [{"name": "00000"}]}, "no 'pairs'"),
        ({"target": 5}, "'target'"),
        ({"settings": []}, "'settings'"),
    ],
)
def test_a_card_from_elsewhere_is_refused(shards, change, reason):
    card = json.loads((shards.directory / "card.json").read_text())
    write_sealed_json(shards.directory / "card.json", card | change)
    with pytest.raises(ValueError, match=f"must be intact.*card.json.*{reason}"):
        Shards(shards.directory)


@pytest.mark.parametrize(
    ("field", "value"), [("name", "../00"), ("name", "00007"), ("pairs", -2), ("longest", [1])]
)
def test_an_entry_that_no_shard_has_is_refused(shards, field, value):
    card = json.loads((shards.directory / "card.json").read_text())
    card["shards"][1][field] = value
    write_sealed_json(shards.directory / "card.json", card)
    with pytest.raises(ValueError, match="its shard 1 has"):
        Shards(shards.directory)


@pytest.mark.parametrize("side", ["source", "target"])
def test_a_side_that_is_none_is_refused_when_it_is_needed(shards, side):
    card = json.loads((shards.directory / "card.json").read_text())
    card[side] = {"class_name": "Elsewhere", "config": {}, "module": None, "model": "AAAA"}
    write_sealed_json(shards.directory / "card.json", card)
    with pytest.raises(ValueError, match="must be intact.*card.json"):
        Shards(shards.directory).source  # noqa: B018


def test_sides_of_different_numbers_are_refused(sides, tmp_path):
    source, target = rows_of(PAIRS, sides)
    with pytest.raises(ValueError, match="5 sources and 4 targets"):
        write_shard(tmp_path, 0, source, target.part(0, 4))
    with pytest.raises(ValueError, match="0 sources"):
        write_shard(tmp_path, 0, source.part(0, 0), target.part(0, 0))
    with pytest.raises(ValueError, match="number=100000"):
        write_shard(tmp_path, 100_000, source, target)
