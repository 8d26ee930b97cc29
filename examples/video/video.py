"""Videos of moving digits to sentences: train, score, and draw a GIF with attention weights.

    python examples/video/video.py train --out runs/video
    python examples/video/video.py score runs/video/translator.keras
    python examples/video/video.py draw runs/video/translator.keras --out runs/video/video.gif

`train` generates videos and trains for at most 36 minutes. `score` prints a row of results.jsonl
for each model, a .keras or .tflite file, on videos with unseen compositions. `draw` also writes a
still image (PNG). Needs scikit-learn, which contains the digits.
"""

import argparse
import dataclasses
import json
from pathlib import Path

import moving_digits
import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from moving_digits import NAMES, SIDE
from PIL import Image
from video_source import VideoSource

import keras_bahdanau as kb

OPTIONS = kb.training.TrainingOptions(
    target_model_type="word",
    normalization="identity",
    vocabulary_size=40,
    convolutions="16,32,64,64",
    encoder="convolutional",  # knows its position and one frame on each side
    embedding_units=96,
    units=128,
    encoder_units=128,
    attention_units=64,
    dropout=0.1,
    recurrent_dropout=0.0,
    label_smoothing=0.05,
    batch_sentences=64,
    learning_rate=3e-3,
    ema_momentum=0.99,
    epochs=11,
    minutes=36,
    best_by="exact",
)
COLORS, MILLISECONDS = 128, 250  # of the GIF, per frame


def train(out, count=20_000, options=()):
    """Train on `count` videos, choose the epoch on 5% as many more; return the model's path."""
    parts = moving_digits.videos("train", count), moving_digits.videos("dev", max(1, count // 20))
    pairs, valid = ([(video.frames, video.text) for video in part] for part in parts)
    options = dataclasses.replace(OPTIONS, **dict(options))
    return kb.training.train(pairs, valid, out, options, source=VideoSource(SIDE, SIDE))


def load(path):
    """Load the pipeline of a .keras or .tflite file."""
    return (kb.exporters.LiteRTPipeline if path.suffix == ".tflite" else kb.load_pipeline)(path)


def decoded(path, videos):
    """Return pairs of a video and the model's result."""
    return [*zip(videos, load(path).decode([video.frames for video in videos]), strict=True)]


def score(path, part, count):
    """Return a row of results.jsonl: the scores of one model, in percent."""
    pairs = decoded(path, moving_digits.videos(part, count))
    exact = {
        known: [result.text == video.text for video, result in pairs if video.known == known]
        for known in (True, False)
    }
    right = [(video, result) for video, result in pairs if result.text == video.text]
    numbers = [numbers for pair in right for numbers in looks(*pair)]
    hits, weights, shares = np.reshape(numbers, (-1, 3)).T
    return {
        "file": path.name,
        "part": part,
        "exact, known handwriting": percent(exact[True]),
        "exact, new handwriting": percent(exact[False]),
        "pointing accuracy": percent(hits),
        "weight on the movement": percent(weights),
        "frames of the movement": percent(shares),
        "kB": f"{path.stat().st_size // 1000:,}",
        "command": f"video.py score {path} --part {part}",
    }


def looks(video, result):
    """Return three values about the word and the movement of each digit in a correct sentence.

    The values are 1.0 if the frame with the largest weight is in the movement, else 0.0; the
    total weight of the movement's frames; and the fraction of frames in the movement.
    """
    rows = [number for number, word in enumerate(video.text.split()) if word in NAMES]
    # each word is one token
    for movement, weights in zip(video.movements, result.alignment[rows], strict=True):
        frames = [*movement.frames]
        is_hit = weights.argmax() in frames
        yield float(is_hit), weights[frames].sum(), len(frames) / len(video.frames)


def percent(values):
    return f"{100 * np.mean(values):.1f}" if len(values) else "none is right"


def draw(path, out):
    """Write a GIF and a still of the first correctly read video with three movements."""
    videos = [video for video in moving_digits.videos("dev", 60) if len(video.movements) == 3]
    right = [pair for pair in decoded(path, videos) if pair[1].text == pair[0].text]
    if not right:
        raise SystemExit(f"{path} reads none of {len(videos)} videos correctly: nothing is drawn")
    video, result = right[0]
    images = [drawn(video, result.alignment, step) for step in range(len(video.frames))]
    images[0].save(out, save_all=True, append_images=images[1:], duration=MILLISECONDS, loop=0)
    images[video.movements[1].frames[2]].save(out.with_suffix(".png"))


def drawn(video, alignment, step):
    """Draw a frame of a video next to the weights of all words, with the frame's in a box."""
    words = video.text.split()
    weights = alignment[: len(words)] / alignment[: len(words)].max(axis=1, keepdims=True)
    figure = Figure((7.2, 3.4), dpi=100)
    canvas = FigureCanvasAgg(figure)
    left = figure.add_axes((0.02, 0.08, 0.40, 0.84))
    left.imshow(video.frames[step].reshape(SIDE, SIDE), cmap="gray", vmin=0, vmax=255)
    left.set(xticks=[], yticks=[])
    right = figure.add_axes((0.53, 0.12, 0.45, 0.80))
    right.imshow(weights, cmap="Oranges", vmin=0, vmax=1, aspect="auto")
    right.axvspan(step - 0.5, step + 0.5, facecolor="none", edgecolor="0.2", linewidth=1.5)
    right.set_yticks(range(len(words)), words, fontsize=9)
    for label, weight in zip(right.get_yticklabels(), weights[:, step], strict=True):
        label.set(color="#c05a00" if weight > 0.5 else "0.5")
    middles = [np.mean(movement.frames) for movement in video.movements]
    names = [f"{NAMES[movement.digit]} moves" for movement in video.movements]
    right.set_xticks(middles, names, fontsize=9)
    right.tick_params(length=0)
    canvas.draw()
    image = Image.fromarray(np.asarray(canvas.buffer_rgba())[..., :3])
    return image.quantize(COLORS, dither=Image.Dither.NONE)


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    command = commands.add_parser("train", help="generate videos and train on them")
    command.add_argument("--out", required=True, metavar="DIR", help="output directory")
    command.add_argument(
        "--videos", type=int, default=20_000, help="number of training videos (%(default)s)"
    )
    command.add_argument(
        "--set",
        type=kb.training.training_option,
        action="append",
        default=[],
        metavar="OPTION=VALUE",
        help="additional training option, such as units=64; may be repeated",
    )
    command = commands.add_parser("score", help="print the scores of models")
    command.add_argument("models", type=Path, nargs="+", metavar="FILE")
    command.add_argument("--part", choices=("dev", "test"), default="dev", help="(%(default)s)")
    command.add_argument("--count", type=int, default=1000, help="number of videos (%(default)s)")
    command = commands.add_parser("draw", help="draw a video with attention weights")
    command.add_argument("model", type=Path, metavar="FILE")
    command.add_argument("--out", type=Path, required=True, metavar="FILE", help="a .gif file")
    found = parser.parse_args(arguments)
    if found.command == "train":
        print(train(found.out, found.videos, found.set))
    elif found.command == "draw":
        draw(found.model, found.out)
    else:
        for path in found.models:
            print(json.dumps(score(path, found.part, found.count)), flush=True)


if __name__ == "__main__":
    main()
