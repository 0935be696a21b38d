"""The page of an evaluation: index.html with tables and plots, and a page for each run."""

from sfq_ray.evaluate.page.evidence import read_evidence
from sfq_ray.evaluate.page.write import shown_figures, write_page

__all__ = ["read_evidence", "shown_figures", "write_page"]
