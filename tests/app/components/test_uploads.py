"""Uploads that the server lost, as it does when it starts anew: a sentence at every uploader."""

import pytest
from streamlit.testing.v1 import AppTest

from app.words import say


def pictures():
    import streamlit as st
    from streamlit.runtime.uploaded_file_manager import DeletedFile

    from app.components import gallery

    st.session_state["image_upload"] = [DeletedFile("1")]
    gallery.take_uploads("image", "image_upload")
    assert gallery.gallery().files == {}


def photo():
    import streamlit as st
    from streamlit.runtime.uploaded_file_manager import DeletedFile

    from app.components import gallery

    st.session_state["image_camera"] = DeletedFile("1")
    gallery.take_photo("image")
    assert gallery.gallery().files == {}


def text():
    import streamlit as st
    from streamlit.runtime.uploaded_file_manager import DeletedFile

    from app.components.long_text import files

    st.session_state["text_file_0"] = DeletedFile("1")
    files.take("text_file_0", "text")
    assert files.attached("text") is None


def labels():
    import streamlit as st
    from streamlit.runtime.uploaded_file_manager import DeletedFile

    from app.views.clip import inputs

    st.session_state["clip_label_file"] = DeletedFile("1")
    inputs.take_file()
    assert "clip_labels" not in st.session_state


def saved():
    from unittest.mock import patch

    from streamlit.runtime.uploaded_file_manager import DeletedFile

    from app.views.lab.sweep import results

    with patch.object(results.st, "file_uploader", return_value=DeletedFile("1")):
        assert results.saved_run() is None


@pytest.mark.parametrize("script", [pictures, photo, text, labels, saved], ids=lambda s: s.__name__)
def test_a_lost_upload_is_told(script):
    page = AppTest.from_function(script, default_timeout=120).run()  # imports, when alone
    assert not page.exception
    assert [each.value for each in page.warning] == [say("upload_lost")]
