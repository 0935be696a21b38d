"""The prompts as Markdown files: rubric.md is shared by all stages, one further file belongs to each stage."""
