"""Judges against human gold: agreement, intervals, paired tests and the reliability of the raters themselves."""
