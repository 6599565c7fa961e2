from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from engine.audit.decide import Auditor
from engine.audit.template import reading
from engine.audit.template.render import render
from engine.knowledge.knowledge import Knowledge


@pytest.fixture(scope="session")
def auditor(knowledge: Knowledge) -> Iterator[Auditor]:
    auditor = Auditor(knowledge)
    yield auditor
    auditor.close()


@pytest.fixture(scope="session", autouse=True)
def _each_template_is_rendered_once() -> Iterator[None]:
    """Hundreds of audits render the same template: the child that does it is started once for each job."""
    known = {}

    def once(template, renderings, renderer=None):
        key = (template, json.dumps(list(renderings), sort_keys=True, default=repr))
        if key not in known:
            known[key] = render(template, renderings, renderer)
        return known[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reading, "render", once)
        yield
