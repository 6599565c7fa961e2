"""The faces of the expert system: REST service, command line and their store."""
