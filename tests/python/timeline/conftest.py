"""The browser of the tests that have "browser" in their name; the others need none."""

import pytest
from neuron_sim.timeline import write_timeline
from recorded_programs import product


@pytest.fixture(scope="module")
def program():
    return product()


@pytest.fixture(scope="module")
def context(tmp_path_factory):
    from page_browser import launched  # skips where Playwright is missing

    with launched(tmp_path_factory.mktemp("profile")) as context:
        yield context


@pytest.fixture
def page(context, program, tmp_path):
    from page_browser import opened  # as above

    path = tmp_path / "timeline.html"
    write_timeline(program, path)
    with opened(context, path) as page:
        yield page
