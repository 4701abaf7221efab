"""Large graphs in the page: open within a second, or five, and stay smooth."""

import pytest

from tests.web.timing import FORMS, network, taken

MEGABYTE = 1_000_000
FRAME = 33.0


@pytest.mark.slow
@pytest.mark.parametrize(("nodes", "within", "size"), [(10_000, 1_000, 6), (100_000, 5_000, 60)])
def test_a_large_graph_opens_soon_and_stays_smooth(browser, tmp_path, nodes, within, size):
    path = network(nodes).explore(tmp_path / "large.html")
    assert path.stat().st_size < size * MEGABYTE
    page = browser.new_page(viewport={"width": 1280, "height": 800})
    for form in FORMS:
        found = taken(page, path, form)
        assert found.opened < within, found
        assert found.pan[0] < FRAME, (form, found)
        assert found.zoom[0] < FRAME, (form, found)
    page.close()
