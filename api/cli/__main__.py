"""``python -m api.cli`` is the command without its script."""

from api.cli import main

main()
