"""The page for those who do not see it, or not well: no rule of axe-core is broken."""

import pytest

from tests.sweeps import sampled
from tests.view.gallery import ran
from tests.web.ops import WEB

AXE = WEB / "node_modules" / "axe-core" / "axe.min.js"
RUN = """async () => (await axe.run()).violations.map(
  (rule) => `${rule.id}: ${rule.nodes.map((node) => node.html).join(" ").slice(0, 300)}`)"""


@pytest.mark.skipif(not AXE.exists(), reason="needs `npm install` in web/")
@pytest.mark.parametrize(
    ("name", "anchor", "keys", "scheme"),
    sampled(
        [
            (*page, scheme)
            for page in [
                ("product", "#step=7", []),
                ("shared", "", ["ArrowDown"]),
                ("shared", "#sort=9", []),
                ("softmax", "", ["ArrowDown"]),
                ("two-ways", "#step=99&order=recursive", ["ArrowDown"]),
                ("two-ways", "#compare&step=12", ["ArrowDown", "t"]),
                ("lstm", "#open=1", ["ArrowDown"]),
            ]
            for scheme in ("light", "dark")
        ],
        3,
    ),
)
def test_no_rule_is_broken(opened, name, anchor, keys, scheme):
    page = opened(ran(name), anchor)
    page.page.emulate_media(color_scheme=scheme)
    page.press(*keys)
    for summary in page.page.locator("details summary").all():
        summary.click()
    page.page.evaluate(AXE.read_text(encoding="utf-8"))
    assert page.page.evaluate(RUN) == []
