"""Launches, advice and benchmarks display themselves in notebooks."""

import torch
from device_type import DEVICE_TYPE


def test_launches_are_a_table_with_a_line_each():
    x = torch.ones(4, 8, device=DEVICE_TYPE)
    with torch.neuron_sim.record_launches() as launches:
        (x @ x.T).relu()
    page = launches._repr_html_()
    assert page.count("<tr>") == 1 + len(launches) > 2
    total = sum(launch.latency_us for launch in launches)
    assert f"<caption>{len(launches)} launches, {total:.4g} us</caption>" in page
    for launch in launches:
        assert launch.name in page and launch._repr_html_().count("<tr>") == 2


def test_a_recording_without_launches_is_an_empty_table():
    with torch.neuron_sim.record_launches() as launches:
        pass
    assert "0 launches, 0 us" in launches._repr_html_()
