"""CLIP page: zero-shot on samples at once, matrix, reasons, retrieval, each kind of bad input."""

import io

import numpy as np
import pytest
from PIL import Image
from streamlit.testing.v1 import AppTest

from app.services import clip_scores
from app.words import say
from core.models import load
from core.models.vision.images import SAMPLES, sample_picture
from tests.app.conftest import MAIN, type_model


def captions(page: AppTest) -> str:
    return "\n".join(caption.value for caption in page.caption)


def group(page: AppTest, key: str):
    return next(item for item in page.button_group if item.key == key)


def png(colour: str) -> bytes:
    file = io.BytesIO()
    Image.new("RGB", (64, 48), colour).save(file, format="PNG")
    return file.getvalue()


def ask(page: AppTest, labels: str) -> AppTest:
    page.text_area(key="clip_labels").set_value(labels)
    return page.button(key="clip_run").click().run()


def choose(page: AppTest, section: str) -> AppTest:
    return group(page, "clip_section").set_value(section).run()


def result(page: AppTest) -> clip_scores.ClassificationResult:
    """The classification that the page shows."""
    return clip_scores.classifications().find(page.session_state["clip_state"].last)


def test_opens_with_labels_for_every_sample(open_page):
    page = open_page("clip")
    assert not page.exception
    assert page.title[0].value == say("clip_title")
    assert len(page.get("plotly_chart")) == len(SAMPLES)
    assert "logit scale" in captions(page)
    assert say("clip_small") in captions(page)
    assert "verified" in captions(page)


def test_scores_are_those_of_the_model_itself(open_page):
    page = ask(open_page("clip"), "cat\nrocket")
    model = load("clip-mini")
    pixels = model.image.pixels([sample_picture("rocket")])
    ids = model.text.ids(["a photo of a cat", "a photo of a rocket"])
    reference = model.module.encode_image(pixels, normalize=True) @ (
        model.module.encode_text(ids, normalize=True).T
    )
    scores = result(page).classification.scores
    np.testing.assert_allclose(scores.cosine[3], reference[0].numpy(), atol=1e-4)
    logits = model.module.logit_scale.exp() * reference[0]
    np.testing.assert_allclose(scores.probability[3], logits.softmax(0).numpy(), atol=1e-4)


def test_c3_one_label_gets_a_cosine_and_no_probability(open_page):
    page = ask(open_page("clip"), "cat")
    assert not page.exception
    assert "Two or more labels are needed for a probability" in captions(page).replace("\\", "")
    assert result(page).classification.scores.probability is None


def test_c3_duplicates_are_merged_and_commas_and_braces_stay(open_page):
    page = ask(open_page("clip"), "cat\n\ncat\na cat, asleep\na {cat}")
    assert not page.exception
    assert result(page).request.labels == ("cat", "a cat, asleep", "a {cat}")
    assert "merged" in captions(page)


def test_only_spaces_are_explained_and_what_was_typed_is_kept(open_page):
    page = ask(open_page("clip"), "  \n \n")
    assert not page.exception
    assert len(page.warning) == 1
    assert "label" in page.warning[0].value
    assert page.text_area(key="clip_labels").value == "  \n \n"
    assert say("stale") in captions(page)


def test_c4_the_words_that_are_cut_are_greyed_and_counted(open_page):
    long = " ".join(["word"] * 600)
    page = ask(open_page("clip"), f"cat\n{long}")
    assert not page.exception
    assert "greyed: 350, in one label." in captions(page)  # of two
    # clip-mini reads 256 tokens: start, 'a photo of a', 250 words, end.
    ((_, lost),) = result(page).classification.cut.values()
    assert lost.split() == ["word"] * 350
    greyed = next(html.proto.body for html in page.get("html") if "<s " in html.proto.body)
    read, cut = greyed.split("<s ")
    assert "word" in read
    assert cut.split(">", 1)[1] == f"{lost[:400]} …</s></div>"  # long ends are shortened


def test_new_labels_encode_no_picture_again(open_page):
    page = open_page("clip")
    before = clip_scores.encodings().encoded_pictures
    page = ask(page, "a red car\na green tree\na bird")
    assert result(page).request.labels == ("a red car", "a green tree", "a bird")
    assert clip_scores.encodings().encoded_pictures == before == len(SAMPLES)


@pytest.mark.parametrize("line", ["a photo", "{} and {}", "a {name}"])
def test_a_template_without_its_gap_is_named(open_page, line):
    page = open_page("clip")
    page.selectbox(key="clip_templates").set_value("own")
    page.text_area(key="clip_own").set_value(line)
    page.button(key="clip_run").click().run()
    assert not page.exception
    assert say("stale") in captions(page)  # the last result stays, greyed
    assert len(page.warning) == 1
    assert page.text_area(key="clip_own").value == line


def test_own_templates_are_averaged_and_their_spread_is_told(open_page):
    page = open_page("clip")
    page.selectbox(key="clip_templates").set_value("own")
    page.button(key="clip_run").click().run()
    assert result(page).request.templates == ("a photo of a {}", "a drawing of a {}")
    assert "templates disagree by" in captions(page)


def test_a_broken_picture_among_good_ones_is_named_and_the_others_go_on(open_page):
    page = open_page("clip")
    files = [
        ("red.png", png("red"), "image/png"),
        ("broken.png", b"not a picture", "image/png"),
        ("blue.png", png("blue"), "image/png"),
    ]
    page.file_uploader(key="clip_upload").set_value(files).run()
    assert not page.exception
    assert ["broken" in warning.value for warning in page.warning] == [True]
    assert len(result(page).request.pictures) == 2  # the samples make room for own pictures


def test_no_picture_says_what_to_do(open_page):
    page = open_page("clip")
    group(page, "clip_samples").set_value([]).run()
    assert not page.exception
    assert [info.value for info in page.info] == [say("clip_no_pictures")]


def test_the_matrix_has_three_kinds_and_opens_a_reason(open_page):
    page = choose(open_page("clip"), "matrix")
    assert len(page.get("plotly_chart")) == 1
    for pair in ("pictures_pictures", "texts_texts"):
        group(page, "clip_pair").set_value(pair).run()
        assert not page.exception
        assert len(page.get("plotly_chart")) == 1
    group(page, "clip_order").set_value("clustered").run()
    assert not page.exception


def test_recall_is_offered_where_rows_and_columns_are_pairs(open_page):
    page = choose(ask(open_page("clip"), "cat\nastronaut\ncup of coffee\nrocket"), "matrix")
    page.toggle(key="clip_pairs").set_value(True).run()
    assert "the right text is first for" in captions(page)


@pytest.mark.parametrize("method", ["similarity", "relevance"])
def test_a_reason_is_shown_by_both_readings_and_against_another_label(open_page, method):
    page = choose(open_page("clip"), "why")
    group(page, "clip_method").set_value(method).run()
    assert not page.exception
    assert not page.warning
    page.selectbox(key="clip_against").set_value("rocket").run()
    assert not page.exception
    assert not page.warning


def test_new_labels_in_a_reason_start_at_the_best_one(open_page):
    page = choose(open_page("clip"), "why")
    page.selectbox(key="clip_label").set_value("rocket").run()
    page = ask(page, "one\ntwo\nrocket")
    assert page.selectbox(key="clip_label").value == "rocket"
    page = ask(page, "one\ntwo")
    assert not page.exception
    assert page.selectbox(key="clip_label").value in ("one", "two")
    group(page, "clip_method").set_value("relevance").run()
    assert not page.exception
    assert not page.error


def test_retrieval_ranks_the_pictures(open_page):
    page = choose(open_page("clip"), "retrieval")
    page.text_input(key="clip_query").set_value("a rocket").run()
    ranks = [caption.value for caption in page.caption if caption.value.startswith("1 ")]
    assert "A rocket on its pad" in ranks[0]
    page.text_input(key="clip_query").set_value("a word " * 300).run()
    assert "The model reads 256 tokens" in captions(page)
    page.text_input(key="clip_query").set_value("   ").run()
    assert not page.exception
    assert [warning.value for warning in page.warning] == [
        say("clip_query_empty").replace(".", "\\.")
    ]


def test_another_mechanism_says_what_it_changed(open_page):
    page = open_page("clip")
    page.selectbox(key="shared_mechanism").set_value("linear").run()
    assert not page.exception
    assert "of 4 pictures" in captions(page)
    page.selectbox(key="shared_mechanism").set_value("standard").run()
    assert "changes for 0 of 4" in captions(page)  # exact attention changes nothing


def test_an_unknown_model_is_explained_and_near_names_are_given(open_page):
    page = open_page("clip")
    type_model(page, "clip_model", "ViT-B-23/openai")
    page.button(key="clip_run").click().run()
    assert not page.exception
    assert len(page.warning) == 1
    assert "ViT\\-B\\-32" in page.warning[0].value
    assert say("stale") in captions(page)
    assert page.get("plotly_chart")  # the last result stays


def test_a_text_model_is_refused_with_a_sentence(open_page):
    page = open_page("clip")
    type_model(page, "clip_model", "minilm ")
    page.button(key="clip_run").click().run()
    assert not page.exception
    assert "pictures with texts" in page.warning[0].value


def test_the_address_keeps_labels_and_templates(open_page):
    page = ask(open_page("clip"), "a dog\na cat, asleep")
    assert page.query_params["labels"] == "a dog\na cat, asleep"
    fresh = AppTest.from_file(str(MAIN), default_timeout=120)
    fresh.query_params["labels"], fresh.query_params["templates"] = "one\ntwo", "a {}!"
    fresh.switch_page("views/clip/clip.py").run()
    assert "templates" in fresh.query_params
    assert fresh.text_area(key="clip_labels").value == "one\ntwo"
    assert result(fresh).request.templates == ("a {}!",)


def linked(**query):
    page = AppTest.from_file(str(MAIN), default_timeout=120)
    for key, value in query.items():
        page.query_params[key] = value
    page.switch_page("views/clip/clip.py").run()
    assert not page.exception
    return page


def test_the_address_keeps_the_rest_of_what_was_chosen(open_page):
    page = linked(labels="one\ntwo", mechanism="linear", samples="astronaut,coffee", show="matrix")
    assert page.selectbox(key="shared_mechanism").value == "linear"
    request = result(page).request
    assert request.mechanism == "linear"
    assert len(request.pictures) == 2
    assert page.session_state["clip_section"] == "matrix"
    link = {key: page.query_params[key] for key in ("mechanism", "samples", "show")}
    assert link == {"mechanism": "linear", "samples": "astronaut,coffee", "show": "matrix"}
    assert not page.warning


def test_what_the_address_names_and_nobody_has_is_told(open_page):
    page = linked(list="ImageNet-2k", mechanism="magic", samples="astronaut,nobody")
    said = " ".join(each.value for each in page.warning)
    for name in ("ImageNet\\-2k", "magic", "nobody"):
        assert name in said
    assert len(result(page).request.pictures) == 1


def test_templates_that_the_address_cannot_hold_are_told(open_page):
    page = open_page("clip")
    lines = [f"picture number {index} of a {{}}, taken from far away" for index in range(60)]
    page.selectbox(key="clip_templates").set_value("own")
    page.text_area(key="clip_own").set_value("\n".join(lines))
    page.button(key="clip_run").click().run()
    assert not page.exception
    assert say("clip_link_templates", count=60) in captions(page)
    assert "templates" not in page.query_params


def test_labels_of_a_file_fill_the_field(open_page):
    page = open_page("clip")
    data = '\ufefflabel;count\n"a cat, asleep";3\nça va;4\n'.encode()
    page.file_uploader(key="clip_label_file").set_value([("labels.csv", data, "text/csv")]).run()
    assert not page.exception
    assert page.text_area(key="clip_labels").value == "a cat, asleep\nça va"
    page.file_uploader(key="clip_label_file").set_value([("x.csv", b"\x00\x01", "text/csv")]).run()
    assert not page.exception
    assert "x" in page.warning[0].value


def test_a_ready_list_fills_the_field(open_page):
    page = open_page("clip")
    group(page, "clip_ready").set_value("CIFAR-10").run()
    assert page.text_area(key="clip_labels").value.splitlines()[:2] == ["airplane", "automobile"]
    page.button(key="clip_run").click().run()
    assert len(result(page).request.labels) == 10
