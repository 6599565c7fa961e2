"""The embedded store: what the service must remember between requests."""

from api.store.database import Store
from api.store.idempotency import Claim, KeyStore, Outcome, StoredAnswer

__all__ = ["Claim", "KeyStore", "Outcome", "Store", "StoredAnswer"]
