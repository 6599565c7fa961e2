"""How a chat client finds the identity provider whose tokens ``/mcp`` takes (RFC 9728, as MCP asks for)."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from api.settings import Settings

MCP = "/mcp"
METADATA = "/.well-known/oauth-protected-resource"


def is_told(settings: Settings) -> bool:
    """Whether there is a provider to be found, and an address of our own to name."""
    return settings.mcp and bool(settings.oidc_issuer and settings.public_url)


def challenge(settings: Settings, path: str) -> str:
    """What the challenge of a 401 adds, so that the client finds the document about ``/mcp``."""
    if path != MCP or not is_told(settings):
        return ""
    return f', resource_metadata="{address(settings, METADATA + MCP)}"'


def address(settings: Settings, path: str) -> str:
    """The URL of a path, as people reach it."""
    return settings.public_url.rstrip("/") + path
