"""Uploads: files that the server still holds; one that it has lost is told in a sentence."""

from typing import TypeVar

import streamlit as st
from streamlit.runtime.uploaded_file_manager import DeletedFile

from app.words import say

File = TypeVar("File")


def present(file: File | None) -> File | None:
    """The file; None, and a sentence, where the server lost it, as it does when it starts anew."""
    if not isinstance(file, DeletedFile):
        return file
    st.warning(say("upload_lost"))
    return None
