"""English: one module a page, one table for all."""

from app.words.en import charts, clip, image, lab, lab_model, shared, text

WORDS = (
    shared.WORDS
    | text.WORDS
    | image.WORDS
    | charts.WORDS
    | clip.WORDS
    | lab.WORDS
    | lab_model.WORDS
)
