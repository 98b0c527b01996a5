"""English: one module a page, one table for all."""

from app.words.en import charts, clip, image, shared, text

WORDS = shared.WORDS | text.WORDS | image.WORDS | charts.WORDS | clip.WORDS
