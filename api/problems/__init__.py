"""The kinds of problems there are (RFC 9457), by slug; each has a page at ``/problems/<slug>``."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from api.problems import access, form, objects, service

if TYPE_CHECKING:
    from collections.abc import Mapping

    from api.problems.kind import Kind

KINDS: Mapping[str, Kind] = MappingProxyType(
    {kind.slug: kind for kind in (*form.KINDS, *access.KINDS, *objects.KINDS, *service.KINDS)}
)
