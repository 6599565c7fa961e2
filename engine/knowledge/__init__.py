"""The knowledge base as data: read strictly, linted, cached, explained and compared."""
