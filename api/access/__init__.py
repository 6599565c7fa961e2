"""Who asks, and what they may do."""

from api.access.caller import LOCAL, Caller, Scope, caller_of, needs, public

__all__ = ["LOCAL", "Caller", "Scope", "caller_of", "needs", "public"]
