"""PDF -> figures, captions, citing paragraphs, crops."""
