"""An option for a second run of the tests under another setting, of which a sample is enough."""

import zlib


def pytest_addoption(parser):
    parser.addoption(
        "--one-in", type=int, default=1, metavar="N", help="run one test in N, the same ones always"
    )


def pytest_collection_modifyitems(config, items):
    divisor = config.getoption("one_in")
    items[:] = [item for item in items if zlib.crc32(item.nodeid.encode()) % divisor == 0]
