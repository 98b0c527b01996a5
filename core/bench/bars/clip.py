"""What the CLIP page and `label` cost, on clip-mini: the table of `python -m core bench clip`.

Times are ratios inside one process, A B A B; see `core.bench.timing`. What is counted, such as
pictures that are encoded again, is counted exactly.
"""

import json
import multiprocessing
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import psutil
from PIL import Image

from core.bench.bars.report import Line, exactly
from core.bench.timing import Spread, interleaved, ratio, seconds
from core.capture.allocator import keep_freed_memory
from core.explain.method import Method, explain
from core.models import load
from core.models.clip import ClipModel
from core.models.vision.images import SAMPLES, Picture, sample_picture
from core.picture.canvas.scene import heat_scene, photo
from core.zero_shot.encodings import Encodings
from core.zero_shot.folders.labelling import Job, label_folder
from core.zero_shot.labels.lists import READY
from core.zero_shot.labels.templates import TEMPLATES

MODEL = "clip-mini"
EARLY = 200  # pictures after which memory is looked at first
MANY = 2_000
SIDE = 64  # pixels of the small pictures


def lines() -> Iterator[Line]:
    """All measurements, one after another; some minutes on two cores."""
    model = load(MODEL, device="cpu")
    yield batches(model)
    yield encoded_again(model)
    yield second_visit(model)
    yield memory_of_labelling()
    yield heat(model, "similarity")
    yield heat(model, "relevance")


def batches(model: ClipModel) -> Line:
    """64 pictures in batches, beside one by one; preprocessing is part of both."""
    pictures = crops(64)
    works = {
        "batches": lambda: model.encode_pictures(pictures),
        "single": lambda: model.encode_pictures(pictures, batch=1),
    }
    spread = ratio(interleaved(works, rounds=7), "batches", "single")
    return Line(f"encode 64 pictures in batches / one by one: {model.name}", spread, 0.6)


def encoded_again(model: ClipModel) -> Line:
    """How many pictures go through the model again when only the labels are new."""
    encodings = Encodings()
    pictures = [(picture.name, picture) for picture in crops(8)]
    encodings.pictures(model, pictures)
    first = encodings.encoded_pictures
    for name in ("CIFAR-10", "COCO things"):
        encodings.pictures(model, pictures)
        encodings.labels(model, READY[name], TEMPLATES["none"])
    again = exactly(float(encodings.encoded_pictures - first))
    return Line("same pictures, new labels: pictures encoded again", again, 0, "count")


def second_visit(model: ClipModel) -> Line:
    """The texts of 1,000 labels and 7 templates, the second time beside the first."""
    labels = tuple(f"{name} {index}" for index, name in enumerate(READY["ImageNet-1k"]))
    shares = []
    for _ in range(3):
        encodings = Encodings()
        first, second = (
            seconds(lambda cache=encodings: cache.labels(model, labels, TEMPLATES["the 7 best"]))
            for _ in range(2)
        )
        shares.append(second / first)
    what = f"1,000 labels x 7 templates, second visit / first: {model.name}"
    return Line(what, Spread.of(shares), 1 / 50)


def memory_of_labelling() -> Line:
    """Resident memory of a process that labels many pictures, at the end beside early on."""
    with TemporaryDirectory() as folder:
        rng = np.random.default_rng(0)
        for index in range(MANY):
            noise = rng.integers(0, 256, (SIDE, SIDE, 3), dtype=np.uint8)
            Image.fromarray(noise).save(Path(folder, f"{index:04}.png"))
        # A fresh process, as this one has held other things before.
        context = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(1, mp_context=context) as pool:
            early, end = pool.submit(labelling_memory, Path(folder)).result()
    what = f"label {MANY:,} pictures: memory at the end / at picture {EARLY}"
    return Line(what, exactly(end / early), 1.05)


def labelling_memory(folder: Path, name: str = MODEL) -> tuple[int, int]:
    """Resident bytes of this process after `EARLY` pictures, and after all of the folder."""
    keep_freed_memory()
    process, held = psutil.Process(), {}

    def tell(share: float) -> None:
        if share * MANY >= EARLY:
            held.setdefault("early", process.memory_info().rss)
        held["end"] = process.memory_info().rss

    job = Job(folder, folder / "labels.csv", TEMPLATES["a photo of a {}"])
    label_folder(load(name, device="cpu"), job, READY["CIFAR-10"], tell)
    return held["early"], held["end"]


def heat(model: ClipModel, method: Method) -> Line:
    """Server time from a click on a cell to what is sent: the heat map on its picture."""
    picture = sample_picture("chelsea")
    direction = model.encode_texts(["a photo of a cat"])[0]
    scale = {"diverging": True, "middle": "mean"} if method == "similarity" else {}

    def click() -> None:
        prepared = model.image.prepare(picture)
        values = explain(method, model, prepared, [direction])
        shown = photo(picture, prepared.geometry)
        json.dumps(heat_scene(values, shown, run="bench", title="a cat", unit=method, **scale))

    samples = interleaved({"click": click}, rounds=15)["click"]
    spread = Spread.of([1000 * sample for sample in samples])
    return Line(f"server time, click on a cell to its heat map: {method}", spread, 300, "ms")


def crops(count: int) -> list[Picture]:
    """Different square pieces of the sample photographs, as large as many models want them."""
    side, found = 224, []
    rng = np.random.default_rng(0)
    samples = [sample_picture(name) for name in SAMPLES]
    for index in range(count):
        sample = samples[index % len(samples)].pixels
        left, top = (int(rng.integers(0, edge - side)) for edge in sample.size)
        piece = sample.crop((left, top, left + side, top + side))
        found.append(Picture(piece, f"{index}.png"))
    return found
