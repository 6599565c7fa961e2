"""One defect for each gate of card, manifest and run record."""

from __future__ import annotations

from collections.abc import Callable

from tests.engine.audit.build.causal_lm import causal_lm, then_summed
from tests.engine.audit.given import Defect, Given


def card(old: str, new: str) -> Callable[[Given], Given | None]:
    def spoil(given: Given) -> None:
        file = given.root / "README.md"
        text = file.read_text("utf-8")
        assert old in text
        file.write_text(text.replace(old, new), "utf-8")

    return then_summed(spoil)


def changed_after(given: Given) -> None:
    given.edit_json("generation_config.json", temperature=0.9)


def unlisted(given: Given) -> None:
    (given.root / "notes.txt").write_text("left behind", "utf-8")


def gone(given: Given) -> None:
    (given.root / "special_tokens_map.json").unlink()


DEFECTS = (
    Defect("provenance/prov-card", causal_lm, card("license: apache-2.0\n", ""), name="no licence"),
    Defect("provenance/prov-card", causal_lm, card("license: apache-2.0", "license: mit"), name="another licence"),
    Defect("provenance/prov-card", causal_lm, card("datasets:", "data_sets:"), name="no data"),
    Defect("provenance/prov-manifest", causal_lm, changed_after),
    Defect("provenance/prov-manifest", causal_lm, unlisted),
    Defect("provenance/prov-manifest", causal_lm, gone),
    Defect("provenance/prov-run-record", causal_lm, card("seed 42", "and luck")),
)
