"""The store: what the service must remember between requests."""

from api.store.audits import AuditLimits, AuditStore
from api.store.database import Store
from api.store.errors import StoreError
from api.store.idempotency import Claim, KeyStore, Outcome, StoredAnswer

__all__ = ["AuditLimits", "AuditStore", "Claim", "KeyStore", "Outcome", "Store", "StoreError", "StoredAnswer"]
