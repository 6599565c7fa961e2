"""The knowledge base: YAML files and their generated schemas, carried as package data."""
