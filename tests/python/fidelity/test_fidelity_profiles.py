"""What profiles state beside the total, compared with what is simulated."""

import json

from fidelity_samples import entry
from neuron_sim.fidelity.measurement import parse_measurement
from neuron_sim.fidelity.published.evaluate import evaluated_from
from neuron_sim.fidelity.report import report
from neuron_sim.fidelity.report_text import lines


def test_what_a_profile_states_is_compared_beside_the_total():
    stated = {"hbm_read_bytes": 1000, "Vector busy us": 8.0, "unknown": 3, "text": "x"}
    measurement = parse_measurement(entry("a", 4, 10.0) | {"extra": {"profile": stated}})
    times = dict.fromkeys(("latency_us", "profile_us", "body_us"), 10.0) | {"bottleneck": "Vector"}
    reply = {
        "published": times, "off": times, "stack": "none",
        "profile": {"hbm_read_bytes": 1500, "hbm_write_bytes": 7, "Vector busy us": 2.0},
    }  # fmt: skip
    result = report([evaluated_from(measurement, [reply, reply])])
    (case,) = result["cases"]
    assert case["profile"] == {
        "hbm_read_bytes": {"measured": 1000, "simulated": 3000.0, "error_percent": 200.0},
        "Vector busy us": {"measured": 8.0, "simulated": 4.0, "error_percent": -50.0},
    }
    assert json.dumps(result)
    text = list(lines(result))
    assert "a, hbm_read_bytes: measured 1,000, simulated 3,000 (+200.0 %)" in text
