"""A static report of one output directory: totals, distributions and every figure with its scores."""

from sfq_ray.report.build import REPORT, write_report

__all__ = ["REPORT", "write_report"]
