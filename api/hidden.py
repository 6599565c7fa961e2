"""Characters that cannot be seen, but act: on a terminal, on the direction of reading, on a parser or a database."""

import re

# Unicode's categories Cc, Cf, Cs, Co, Zl and Zp and the noncharacters that XML forbids, but for the two joiners, which
# are parts of words and emoji; without the line feed.
_BUT_LINE_FEED = (
    "\x00-\x09\x0b-\x1f\x7f-\x9f\xad\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u180e\u200b\u200e\u200f"
    "\u2028-\u202e\u2060-\u2064\u2066-\u206f\ud800-\uf8ff\ufeff\ufff9-\ufffb\ufffe\uffff\U000110bd\U000110cd"
    "\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0001-\U000e007f\U000f0000-\U0010ffff"
)
HIDDEN = re.compile(f"[\n{_BUT_LINE_FEED}]")
HIDDEN_IN_LINES = re.compile(f"[{_BUT_LINE_FEED}]")  # in a text that may have lines
