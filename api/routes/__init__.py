"""The operations of the service, one small module a subject."""
