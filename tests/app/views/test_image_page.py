"""Image page: opens on a finished sample, takes uploads, and names the file that is no picture."""

import io

import pytest
from PIL import Image
from streamlit.testing.v1 import AppTest

from app.words import say
from tests.app.conftest import type_model


def captions(page: AppTest) -> str:
    return "\n".join(caption.value for caption in page.caption)


def png(width: int, height: int) -> bytes:
    file = io.BytesIO()
    Image.new("RGB", (width, height), "red").save(file, format="PNG")
    return file.getvalue()


def group(page: AppTest, key: str):
    return next(item for item in page.button_group if item.key == key)


def upload(page: AppTest, *files: tuple[str, bytes, str]) -> AppTest:
    return page.file_uploader(key="image_upload").set_value(list(files)).run()


def test_opens_on_a_finished_sample(open_page):
    page = open_page("image")
    assert not page.exception
    assert page.title[0].value == say("image_title")
    # chelsea is 300 x 451: 518 px on the long side, 14 px patches
    assert "25 x 37 patches + CLS" in captions(page)
    assert "verified" in captions(page)


def test_choosing_a_query_and_a_direction_runs_no_model(open_page, monkeypatch):
    page = open_page("image")

    def refuse(*_, **__):
        pytest.fail("the model ran again")

    monkeypatch.setattr("core.models.vision.model.VisionModel.forward", refuse)
    page.session_state["image_state"].patches.query = (
        1 + 3 * 37 + 5
    )  # patch 3,5 after CLS, as a click sets it
    page.run()
    assert group(page, "image_named").options == ["CLS", "patch 3,5"]
    page.toggle(key="image_table").set_value(True).run()
    of_patch = page.dataframe[0].value["weight"].to_numpy()
    group(page, "image_direction").set_value("to").run()
    assert len(page.dataframe[0].value) == 1 + 25 * 37
    group(page, "image_direction").set_value("from").run()
    group(page, "image_named").set_value(0).run()  # back to CLS by its name
    assert page.session_state["image_state"].patches.query == 0
    assert group(page, "image_named").options == ["CLS"]
    of_cls = page.dataframe[0].value["weight"].to_numpy()
    assert of_cls.sum() == pytest.approx(1, abs=1e-5)
    assert abs(of_cls - of_patch).max() > 1e-4
    assert not page.exception


def test_an_upload_is_shown_and_a_broken_one_is_named(open_page):
    page = upload(
        open_page("image"),
        ("red.png", png(56, 28), "image/png"),
        ("notes.png", b"not a picture", "image/png"),
    )
    assert not page.exception
    assert "notes" in page.warning[0].value
    assert len(page.warning) == 1
    # 56 x 28 grows to 518 x 259, and 259 / 14 is 18.5: 18 or 19 rows of 37 patches
    assert any(f"{rows} x 37 patches" in captions(page) for rows in (18, 19))


def test_a_truncated_and_a_lying_file_leave_the_app_alive(open_page):
    whole = png(64, 64)
    # The width and height in a PNG's header are bytes 16 to 24.
    lying = whole[:16] + (50_000).to_bytes(4, "big") * 2 + whole[24:]
    page = upload(
        open_page("image"),
        ("cut.png", whole[: len(whole) // 2], "image/png"),
        ("lie.png", lying, "image/png"),
    )
    assert not page.exception
    (told,) = (each.value.replace("\\", "") for each in page.warning)
    assert told.startswith(say("gallery_refused", count=2))
    assert "'cut.png' is cut off or damaged" in told
    assert "'lie.png' is none of them" in told
    page.button(key="image_refused_seen").click().run()
    assert not page.warning
    assert "25 x 37 patches" in captions(page)  # the sample is still there


def test_an_unknown_model_is_explained_and_the_picture_is_kept(open_page):
    page = open_page("image")
    type_model(page, "image_model", "vit_of_nowhere")
    page.button(key="image_run").click().run()
    assert not page.exception
    assert len(page.warning) == 1
    assert group(page, "image_pick").value == "sample/chelsea"
    assert say("stale") in captions(page)
    assert say("downloads") in captions(page)  # of the picture that is still drawn


def test_a_text_model_is_refused_with_a_sentence(open_page):
    page = open_page("image")
    type_model(page, "image_model", "minilm ")
    page.button(key="image_run").click().run()
    assert not page.exception
    assert len(page.warning) == 1
