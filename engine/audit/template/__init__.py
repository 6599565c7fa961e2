"""Chat templates: where a checkpoint keeps them, and what they write when they are rendered under limits."""

from __future__ import annotations

from engine.audit.template.reading import Reading, read_template
from engine.audit.template.sources import TemplateSource, template_in_effect, template_sources

__all__ = ["Reading", "TemplateSource", "read_template", "template_in_effect", "template_sources"]
