"""A .keras file from elsewhere is refused with a one-line error if any part of it was changed."""

import dataclasses
import hashlib
import json
import random
import shutil
import zipfile

import pytest
from full_disk import full_disk

import keras_bahdanau as kb
from keras_bahdanau.files import integrity
from keras_bahdanau.pipelines.archive import read_card, read_search, write_search

CARD = "pipeline.json"


@pytest.fixture(scope="module")
def saved(toy_translator, tmp_path_factory):
    path = tmp_path_factory.mktemp("saved") / "toy.keras"
    toy_translator.save(path)
    return path


def members_of(path):
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def archive_of(path, members, compression=zipfile.ZIP_STORED):
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return path


@pytest.fixture
def changed(saved, tmp_path):
    """`changed(**fields)`: the path of a copy with changed card fields and without hashes."""

    def change(**fields):
        members = members_of(saved)
        card = {**json.loads(members[CARD]), **fields}
        del card["sha256"]
        return archive_of(tmp_path / "changed.keras", {**members, CARD: json.dumps(card)})

    return change


def with_card(saved, tmp_path, content):
    return archive_of(tmp_path / "card.keras", {**members_of(saved), CARD: content})


def one_line(error):
    message = str(error.value)
    assert "Received: " in message and "\n" not in message and "safe_mode" not in message
    return message


def test_saved_file_is_read(saved, toy_translator):
    assert read_card(saved)["search"] == dataclasses.asdict(toy_translator.search)


@pytest.mark.parametrize("side", ["source", "target"])
def test_tokenizer_of_another_model_is_refused(saved, tmp_path, side, toy_translator):
    size = toy_translator.target.vocabulary_size
    other = kb.text.Subwords.train(["ab cd ef gh ij kl mn op qr st uv wx yz"], size, exact=False)
    card = json.loads(members_of(saved)[CARD])
    config = other.get_config()
    if side == "source":
        config = {**card["source"], "config": {"subwords": config}}
    path = with_card(saved, tmp_path, json.dumps({**card, side: config}))
    with pytest.raises(ValueError, match=f"changed since it was saved: '{side}'") as error:
        kb.Translator.load(path)
    one_line(error)


@pytest.mark.parametrize("name", ["config.json", "model.weights.h5", "metadata.json"])
def test_member_of_another_file_is_refused(saved, tmp_path, name):
    members = members_of(saved)
    path = archive_of(tmp_path / "x.keras", {**members, name: members[name] + b" "})
    with pytest.raises(ValueError, match=f"changed since it was saved: '{name}'"):
        read_card(path)
    del members[name]
    with pytest.raises(ValueError, match=f"changed since it was saved: '{name}'"):
        read_card(archive_of(path, members))


def test_member_that_was_added_is_refused(saved, tmp_path):
    path = archive_of(tmp_path / "x.keras", {**members_of(saved), "assets/more": b"more"})
    with pytest.raises(ValueError, match="changed since it was saved: 'assets/more'"):
        read_card(path)


def test_new_search_options_leave_the_file_whole(saved, tmp_path):
    path = tmp_path / "tuned.keras"
    path.write_bytes(saved.read_bytes())
    options = dataclasses.asdict(kb.SearchOptions(beam_width=3))
    write_search(path, options)
    assert read_card(path)["search"] == options


def test_new_search_options_reach_the_file_of_a_link(saved, tmp_path):
    (tmp_path / "store").mkdir()
    # The file has a name like those in caches.
    file, link = tmp_path / "store" / "0a1b2c", tmp_path / "link.keras"
    file.write_bytes(saved.read_bytes())
    link.symlink_to(file)
    write_search(link, dataclasses.asdict(kb.SearchOptions(beam_width=3)))
    assert link.is_symlink() and read_card(link)["search"]["beam_width"] == 3
    assert [*file.parent.iterdir()] == [file]


@pytest.mark.parametrize(
    "content",
    [
        *(b"", b"{", b"[]", b"null", b"3", b'"a"', b'{"a": "\xff"}', b"{}"),
        *(b"[" * 100_000, b'{"a":' * 100_000, b'{"a": ' + b"9" * 10_000 + b"}", b'{"a": NaN}'),
    ],
    ids=lambda content: content[:8],
)
def test_card_that_is_none_gets_one_line(saved, tmp_path, content):
    with pytest.raises(ValueError) as error:
        read_card(with_card(saved, tmp_path, content))
    one_line(error)


@pytest.mark.parametrize("value", [None, 3, [], "text"])
@pytest.mark.parametrize("name", ["source", "target", "search", "sha256"])
def test_field_of_another_form_gets_one_line(saved, tmp_path, name, value):
    card = {**json.loads(members_of(saved)[CARD]), name: value}
    with pytest.raises(ValueError, match=f"its '{name}' has the wrong type") as error:
        read_card(with_card(saved, tmp_path, json.dumps(card)))
    one_line(error)


@pytest.mark.parametrize("value", [None, 3, [], "exact", [3], ["exact", None]])
def test_metrics_that_are_no_names_get_one_line(saved, tmp_path, value):
    card = {**json.loads(members_of(saved)[CARD]), "metrics": value}
    with pytest.raises(ValueError, match="its 'metrics' is not a list of names") as error:
        read_card(with_card(saved, tmp_path, json.dumps(card)))
    one_line(error)


def test_metrics_of_a_pipeline_are_those_of_its_file(saved, toy_translator, tmp_path):
    assert "metrics" not in read_card(saved)
    assert toy_translator.metrics == kb.Translator.metrics == ("bleu", "chrf")
    parts = toy_translator.source, toy_translator.model, toy_translator.target
    path = tmp_path / "judged.keras"
    kb.Translator(*parts, metrics=("exact", "per")).save(path)
    loaded = kb.load_pipeline(path)
    assert loaded.metrics == ("exact", "per")
    assert kb.ensemble([loaded]).metrics == ("exact", "per")
    for wrong in ("exact", ()):
        with pytest.raises(
            ValueError, match="`metrics` must be a list of names, .* Received: metrics="
        ):
            kb.Translator(*parts, metrics=wrong)


def test_search_option_of_a_newer_version_names_that_version(changed):
    path = changed(keras_bahdanau="9.1.0", search={"beam_width": 5, "new": 1})
    with pytest.raises(ValueError, match="'new', .* keras-bahdanau 9[.]1[.]0") as error:
        read_card(path)
    one_line(error)


@pytest.mark.parametrize("value", ["five", None, [5], {}, 0, -1, 1e308, True])
def test_search_option_out_of_range_names_the_file(changed, value):
    with pytest.raises(ValueError, match="changed.keras'.*Received: beam_width=") as error:
        read_card(changed(search={"beam_width": value}))
    one_line(error)


def test_version_that_is_no_version_is_not_printed(changed):
    path = changed(keras_bahdanau="\x1b[2J", search={"new": 1})
    with pytest.raises(ValueError, match="written by an unknown version") as error:
        read_card(path)
    assert one_line(error).isprintable()


@pytest.mark.few(1)
@pytest.mark.parametrize(
    "source",
    [
        {"module": "os", "class_name": "system", "config": {}, "registered_name": None},
        {"class_name": "Unknown", "config": {}, "registered_name": "mine>Unknown"},
        {"class_name": "__lambda__", "config": {"value": "e30="}},
        {},
    ],
    ids=["function", "unknown", "lambda", "empty"],
)
def test_source_that_keras_refuses_gets_one_line(changed, source):
    with pytest.raises((TypeError, ValueError)) as error:
        kb.Translator.load(changed(source=source))
    one_line(error)
    assert error.value.__cause__ is None


@pytest.mark.parametrize(
    "config", [b"[]", b"junk", b'{"class_name": "Unknown", "config": {}}'], ids=str
)
def test_model_that_keras_refuses_gets_one_line(saved, changed, config):
    path = changed()
    archive_of(path, {**members_of(path), "config.json": config})
    with pytest.raises(ValueError, match="must be able to read all parts") as error:
        kb.Translator.load(path)
    assert "\x1b" not in one_line(error)


def test_model_without_a_config_gets_one_line(changed):
    path = changed()
    members = members_of(path)
    del members["config.json"]
    archive_of(path, members)
    with pytest.raises(ValueError, match="must be able to read all parts") as error:
        kb.Translator.load(path)
    one_line(error)


def test_model_with_a_class_in_place_of_a_dtype_gets_one_line(changed):
    path = changed()
    members = members_of(path)
    config = json.loads(members["config.json"])
    config["config"]["dtype"] = {"class_name": "X"}
    archive_of(path, {**members, "config.json": json.dumps(config)})
    with pytest.raises(ValueError, match="dtype of 'seq2seq.*' is not a dtype policy") as error:
        kb.Translator.load(path)
    one_line(error)


@pytest.mark.few(1)
@pytest.mark.parametrize("value", [None, {}])
def test_model_whose_weights_keras_does_not_read_is_refused(changed, value):
    path = changed()
    members = members_of(path)
    config = {**json.loads(members["config.json"]), "build_config": value}
    archive_of(path, {**members, "config.json": json.dumps(config)})
    with pytest.raises(
        ValueError, match="must contain the build config of its model. Received: "
    ) as error:
        kb.Translator.load(path)
    one_line(error)


def test_changed_bit_of_a_header_gets_one_line(saved, tmp_path):
    content, path = saved.read_bytes(), tmp_path / "x.keras"
    with zipfile.ZipFile(saved) as archive:
        places = [*range(archive.start_dir, len(content))]
        for entry in archive.infolist():
            places += range(entry.header_offset, entry.header_offset + 30)
    rng = random.Random(0)
    for place in [len(content) - 65, len(content) - 66, *rng.sample(places, 25)]:
        for bit in (rng.randrange(8), 6):  # bit 6 makes a 64-byte comment empty
            flipped = bytearray(content)
            flipped[place] ^= 1 << bit
            path.write_bytes(flipped)
            with pytest.raises(ValueError, match=r"intact .keras archive.* Received: "):
                read_card(path)


def test_the_comment_of_an_archive_is_the_sha256_of_all_bytes_before_it(saved, tmp_path):
    path = shutil.copy(saved, tmp_path / "x.keras")
    write_search(path, {"beam_width": 2})
    for sealed in (saved, path):
        content = sealed.read_bytes()
        assert content[-64:] == hashlib.sha256(content[:-64]).hexdigest().encode()
    assert read_search(path).beam_width == 2


@pytest.mark.few(1)
@pytest.mark.parametrize("name", [CARD, "config.json", "model.weights.h5"])
def test_archive_that_unfolds_to_much_is_refused(saved, tmp_path, monkeypatch, name):
    monkeypatch.setattr(integrity, "SPARE", 2**20)
    members = {**members_of(saved), name: bytes(integrity.SPARE + 20 * saved.stat().st_size)}
    path = archive_of(tmp_path / "bomb.keras", members, zipfile.ZIP_DEFLATED)
    with pytest.raises(ValueError, match="it unpacks to .* are allowed"):
        read_card(path)


def test_card_has_a_bound_of_its_own(saved, tmp_path, monkeypatch):
    monkeypatch.setattr(integrity, "LONGEST_CARD", 2**25)
    members = {**members_of(saved), CARD: b" " * (integrity.LONGEST_CARD + 1)}
    path = archive_of(tmp_path / "bomb.keras", members, zipfile.ZIP_DEFLATED)
    with pytest.raises(ValueError, match="'pipeline.json' unpacks to 33,554,433 bytes"):
        read_card(path)


def test_two_members_of_one_name_are_refused(saved, tmp_path):
    path = archive_of(tmp_path / "x.keras", members_of(saved))
    with zipfile.ZipFile(path, "a") as archive, pytest.warns(UserWarning, match="Duplicate"):
        archive.writestr(CARD, b"{}")
    with pytest.raises(ValueError, match="two files with the same name"):
        read_card(path)


@pytest.mark.few(1)
@pytest.mark.parametrize("bytes_left", [0, 5000])
def test_full_disk_gets_one_line_and_leaves_the_last_file(toy_translator, tmp_path, bytes_left):
    path = tmp_path / "toy.keras"
    path.write_bytes(b"the last one")
    with full_disk(bytes_left), pytest.raises(OSError, match="toy.keras' .File too large") as error:
        toy_translator.save(path)
    one_line(error)
    assert [file.name for file in tmp_path.iterdir()] == [path.name]
    assert path.read_bytes() == b"the last one"


def test_full_disk_leaves_the_old_search_options(saved, tmp_path):
    path = tmp_path / "tuned.keras"
    path.write_bytes(saved.read_bytes())
    options = dataclasses.asdict(kb.SearchOptions(beam_width=3))
    with full_disk(1000), pytest.raises(OSError, match="Received: path="):
        write_search(path, options)
    assert [file.name for file in tmp_path.iterdir()] == [path.name]
    assert path.read_bytes() == saved.read_bytes()


def test_the_directory_of_a_training_is_loaded_and_a_typo_is_named(toy_translator, tmp_path):
    (tmp_path / "run").mkdir()
    toy_translator.save(tmp_path / "run" / "translator.keras")
    assert kb.load_pipeline(str(tmp_path / "run")).target == toy_translator.target
    for load in (kb.load_pipeline, kb.Translator.load):
        with pytest.raises(FileNotFoundError) as caught:
            load(tmp_path / "runs")
        path = str(tmp_path / "runs")
        expected = f"No model at {path!r}. Pass the directory of a training run, or a .keras file."
        assert str(caught.value) == expected


def test_an_export_in_the_place_of_a_translator_is_named_as_one(tmp_path):
    (tmp_path / "names.tflite").write_bytes(b"")
    with pytest.raises(ValueError, match="Use the .keras file; a .tflite file is an export of"):
        kb.load_pipeline(tmp_path / "names.tflite")
