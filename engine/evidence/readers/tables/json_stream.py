"""The objects of an array inside a JSON document, piece by piece, so that a large document is never held whole."""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from engine.evidence.readers.tables.axis import Column
from engine.evidence.readers.tables.flat import flat_columns

_OBJECT_CHARS = 1 << 20  # a record of a metrics file has a few hundred characters
_BETWEEN = re.compile(r"[\s,]*")
_BLANKS = bytes(ord(" ") if code in b"\r\n\t" else code for code in range(256))

Records = list[Mapping[str, object]]
Columns = tuple[int, dict[str, Column]]


@dataclass(slots=True)
class ArrayStream:
    """Reads the array that ``opening`` (a pattern that ends with its bracket) begins.

    ``as_columns`` says whether the caller can do with the columns of some objects instead of these.
    Afterwards ``rest`` is the document around the array, which stands in it as ``[]``, and ``fault`` says in words
    what is wrong with the document, if anything.
    """

    opening: re.Pattern[str]
    as_columns: Callable[[Columns], bool]
    most_around: int = 32 << 20  # characters beside the array
    rest: str = ""
    fault: str = ""

    def blocks(self, pieces: Iterable[bytes]) -> Iterator[Records | Columns]:
        """Yield the objects of the array, some at a time, as columns (see ``flat``) if they are all numbers.

        Other items are passed over.
        """
        texts = _decoded(pieces)
        before, text = self._until_open(texts)
        if not before:
            return
        decoder = json.JSONDecoder()
        while True:
            at = 0
            columns, end = _columns(text)
            if columns is not None and self.as_columns(columns):
                yield columns
                at = end
            records, at, closed = self._decode(decoder, text, at)
            if records:
                yield records
            text = text[at:]
            if closed or self.fault:
                break
            piece = next(texts, None)
            if piece is None:
                self.fault = "JSON is damaged or cut short; the records in front of the fault were read"
                break
            text += piece
        missing = "]}" if before.lstrip().startswith("{") else "]"
        self.rest = before + (self._upto(text, texts) if closed else missing)

    def _until_open(self, texts: Iterator[str]) -> tuple[str, str]:
        """The text up to the bracket, and what follows of its piece; without a bracket everything is ``rest``."""
        text = ""
        for piece in texts:
            searched = max(len(text) - 64, 0)  # a key may lie across two pieces
            text += piece
            match = self.opening.search(text, searched)
            if match is not None:
                return text[: match.end()], text[match.end() :]
            if len(text) > self.most_around:
                self.fault = f"JSON has no records in its first {self.most_around} characters"
                return "", ""
        self.rest = text
        return "", ""

    def _upto(self, text: str, texts: Iterator[str]) -> str:
        for piece in texts:
            text += piece
            if len(text) > self.most_around:
                self.fault = f"JSON goes on for more than {self.most_around} characters behind its records"
                return "]}"
        return text

    def _decode(self, decoder: json.JSONDecoder, text: str, start: int) -> tuple[Records, int, bool]:
        """Decode what is whole from ``start``: the objects, where the rest begins, and whether the array has ended."""
        records, at = _all_at_once(text, start)
        while True:
            start = _between(text, at)
            if start == len(text) or text[start] == "]":
                return records, start, start < len(text)
            try:
                record, end = decoder.raw_decode(text, start)
            except RecursionError:
                self.fault = "JSON is nested too deeply"
                return records, start, False
            except ValueError:  # cut by the end of the piece, or wrong: more text will tell
                if len(text) - start > _OBJECT_CHARS:
                    self.fault = "JSON is damaged; the records in front of the fault were read"
                return records, start, False
            if isinstance(record, dict):
                records.append(record)
            elif end == len(text):  # a number may go on in the next piece
                return records, start, False
            at = end


def _columns(text: str) -> tuple[Columns | None, int]:
    """The columns of the objects up to the last "}," if they are flat, and where that is."""
    end = text.rfind("},") + 1
    objects = text[_between(text, 0) : end].encode().translate(_BLANKS)
    return flat_columns(objects, b","), end


def _all_at_once(text: str, start: int) -> tuple[Records, int]:
    """The objects up to the last "}," if that is the end of one, and where it is; else nothing."""
    end = text.rfind("},", start) + 1
    try:
        items = json.loads(f"[{text[_between(text, start) : end]}]") if end else []
    except (ValueError, RecursionError):
        return [], start
    return [item for item in items if isinstance(item, dict)], max(end, start)


def _between(text: str, at: int) -> int:
    match = _BETWEEN.match(text, at)
    return match.end() if match is not None else at


def _decoded(pieces: Iterable[bytes]) -> Iterator[str]:
    decoder = codecs.getincrementaldecoder("utf-8-sig")("replace")
    for piece in pieces:
        yield decoder.decode(piece)
