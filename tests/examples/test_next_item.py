"""A user's next film: ranks compared with plain loops, and training on made-up sessions."""

import json
import sys
from pathlib import Path

import keras
import numpy as np
import pytest

FOLDER = Path(__file__).parents[2] / "examples" / "next_item"


@pytest.fixture
def next_item(example):
    return example("next_item")


@pytest.fixture
def folder(tmp_path):
    """Files of 60 users who each watch consecutive films in a circle of 60."""
    generator = np.random.default_rng(1)
    ratings = []
    for user in range(60):
        start, length = generator.integers(60), generator.integers(5, 45)
        for step in range(length):
            item = 100 + (start + step) % 60
            ratings.append(f"{user}\t{item}\t{generator.integers(1, 6)}\t{881250000 + 60 * step}")
    generator.shuffle(ratings)
    header = "user_id:token\titem_id:token\trating:float\ttimestamp:float"
    (tmp_path / "ml-100k.inter").write_text("\n".join([header, *ratings]) + "\n")
    items = [f"{100 + i}\tFilm {i}\t1995\tDrama" for i in range(60)]
    header = "item_id:token\tmovie_title:token_seq\trelease_year:token\tclass:token_seq"
    (tmp_path / "ml-100k.item").write_text("\n".join([header, *items]) + "\n")
    return tmp_path


def slow_quality(scores, histories, targets):
    """Compute HR@10 and MRR@10 in a loop over films."""
    hits, reciprocals = [], []
    for user, target in enumerate(targets):
        rank = 1
        for film in range(1, len(scores[user])):
            if film not in histories[user] and film != target:
                rank += scores[user][film] >= scores[user][target]
        hits.append(rank <= 10)
        reciprocals.append(1 / rank if rank <= 10 else 0)
    return sum(hits) / len(hits), sum(reciprocals) / len(reciprocals)


def test_hit_rate_and_reciprocal_rank_equal_a_plain_loop(next_item):
    generator = np.random.default_rng(2)
    scores = generator.integers(0, 9, (50, 40)).astype("float32")  # with many ties
    orders = [generator.permutation(np.arange(1, 40)) for _ in range(50)]
    histories = [order[1 : generator.integers(2, 30)] for order in orders]
    targets = [order[0] for order in orders]
    expected = slow_quality(scores, histories, targets)
    np.testing.assert_allclose(next_item.quality(scores, histories, targets), expected)
    assert 0 < expected[1] < expected[0] < 1


def test_films_are_in_order_of_time_and_ties_in_that_of_the_file(next_item, tmp_path):
    ratings = ["u\t7\t3\t20", "v\t9\t1\t5", "u\t9\t4\t10", "u\t8\t5\t20", "v\t7\t2\t4"]
    header = "user_id:token\titem_id:token\trating:float\ttimestamp:float"
    (tmp_path / "ml-100k.inter").write_text("\n".join([header, *ratings]))
    titles = ["item_id:token\tmovie_title:token_seq", "7\tSeven", "8\tAcht", "9\tNeuf", "6\tSix"]
    (tmp_path / "ml-100k.item").write_text("\n".join(titles))
    sessions, names = next_item.read(tmp_path)
    assert names == ["", "Seven", "Acht", "Neuf"]
    assert sorted([names[film] for film in session] for session in sessions) == [
        ["Neuf", "Seven", "Acht"],
        ["Seven", "Neuf"],
    ]


def test_counts_of_followers_and_their_scores_equal_a_plain_loop(next_item):
    generator = np.random.default_rng(3)
    sessions = [generator.permutation(np.arange(1, 9))[:6] for _ in range(20)]
    window, decay = 3, 0.5
    counts = np.zeros((9, 9))
    for session in sessions:
        for later in range(len(session)):
            for earlier in range(max(0, later - window), later):
                counts[session[earlier], session[later]] += 1 / (later - earlier)
    np.testing.assert_allclose(next_item.follower_counts(sessions, 9, window), counts)
    popularity = np.arange(9.0)
    scores = next_item.count_scores(counts, popularity, decay, sessions)
    for row, session in zip(scores, sessions, strict=True):
        expected = sum(decay**back * counts[film] for back, film in enumerate(reversed(session)))
        np.testing.assert_allclose(row, expected + 1e-6 * popularity)


@pytest.mark.slow
@pytest.mark.parametrize("attention", [False, True])
def test_a_step_reads_no_later_film_and_ranks_no_earlier_one(next_item, attention):
    keras.utils.set_random_seed(4)
    model = next_item.new_model(80, attention)
    ids = next_item.padded([np.random.default_rng(5).permutation(np.arange(1, 80))])
    logits = keras.ops.convert_to_numpy(model(ids))[0]
    changed = ids.copy()
    changed[0, 20:] = 0
    np.testing.assert_allclose(
        keras.ops.convert_to_numpy(model(changed))[0, :20], logits[:20], atol=1e-5
    )
    for step in (0, 19, 49):
        np.testing.assert_array_equal(
            np.flatnonzero(logits[step] < -1e3), sorted(ids[0, : step + 1])
        )


@pytest.mark.slow
def test_both_models_learn_a_circle_and_the_counts_know_it(
    next_item, folder, monkeypatch, tmp_path, capsys
):
    monkeypatch.setattr(next_item, "LENGTH", 20)
    out, picture = tmp_path / "results.jsonl", tmp_path / "user.png"
    arguments = ["--data", folder, "--seeds", 2, "--epochs", 30, "--test", "--out", out]
    arguments = [*map(str, [FOLDER / "next_item.py", *arguments, "--picture", picture])]
    monkeypatch.setattr(sys, "argv", arguments)
    next_item.main()
    popular, last, past, gru, attention = map(json.loads, out.read_text().splitlines())
    assert [row["system"] for row in (last, past)] == [*next_item.COUNTS]
    assert [row["system"] for row in (gru, attention)] == [*next_item.MODELS]
    for part in ("dev", "test"):
        assert float(popular[f"{part} HR@10"]) < 0.5
        assert float(last[f"{part} HR@10"]) > 0.95 and float(last[f"{part} MRR@10"]) > 0.9
        for row in (gru, attention):
            mean, least, _, largest = row[f"{part} HR@10"].replace(")", "").split()
            assert 0.6 < float(least[1:]) <= float(mean) <= float(largest) <= 1
    assert picture.stat().st_size > 1000
    printed = json.loads(capsys.readouterr().out.splitlines()[-1])["weight"]
    assert 0 < printed["last 1"] < printed["last 20"] <= 1
