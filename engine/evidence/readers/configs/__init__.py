"""Configurations: files of options, batch scripts, and the settings that logs print.

``FORMATS`` stand last: a file that is anything else as well is that.
"""

from __future__ import annotations

from engine.evidence.readers.configs.flags import flags_of
from engine.evidence.readers.configs.reader import CONFIGURATION, LOG_WITH_SETTINGS
from engine.evidence.readers.format import Format

FORMATS: tuple[Format, ...] = (CONFIGURATION, LOG_WITH_SETTINGS)

__all__ = ["FORMATS", "flags_of"]
