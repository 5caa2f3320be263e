"""The PyTorch layer of neuron_sim: its compiled parts, one folder for each minor version of torch.

`neuron_sim` loads the one that fits the torch that is installed.
"""

from pathlib import Path

_PREFIX = "torch_"


def folder(torch_version: str) -> Path:
    """The folder with the library and the module for a version of torch, such as "2.14.1+cpu".

    ImportError when this package does not serve that minor version.
    """
    series = ".".join(torch_version.split("+")[0].split(".")[:2])
    path = Path(__file__).parent / (_PREFIX + series.replace(".", "_"))
    if path.is_dir():
        return path
    served = versions()
    if not served:
        raise ImportError(
            f"the package in {path.parent} holds no library for any torch: install it again, with "
            "pip install --force-reinstall --no-deps neuron_sim_torch"
        )
    raise ImportError(
        f"the neuron_sim device is built for torch {', '.join(served)}, whose C++ interface "
        f"changes between minor versions, but torch {torch_version} is installed: pip install "
        f"'torch=={served[-1]}.*', or build neuron_sim from source with that torch"
    )


def versions() -> list[str]:
    """The minor versions of torch that this package serves, oldest first."""
    names = [path.name for path in Path(__file__).parent.glob(_PREFIX + "*")]
    numbers = sorted([int(part) for part in name[len(_PREFIX) :].split("_")] for name in names)
    return [".".join(map(str, number)) for number in numbers]
