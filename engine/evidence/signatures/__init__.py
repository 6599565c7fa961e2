"""Log lines worth knowing: the patterns of the knowledge base in one scan, and what the lines that hit say."""

from engine.evidence.signatures.readings import readings
from engine.evidence.signatures.scan import Hit, SignatureScan

__all__ = ["Hit", "SignatureScan", "readings"]
