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
    if not path.is_dir():
        raise ImportError(
            f"the neuron_sim device is built for torch {_listed(versions())}, whose C++ interface "
            f"changes between minor versions, but torch {torch_version} is installed: pip install "
            f"'torch=={versions()[-1]}.*', or build neuron_sim from source with that torch"
        )
    return path


def versions() -> list[str]:
    """The minor versions of torch that this package serves, oldest first."""
    names = [path.name for path in Path(__file__).parent.glob(_PREFIX + "*")]
    numbers = sorted([int(part) for part in name[len(_PREFIX) :].split("_")] for name in names)
    return [".".join(map(str, number)) for number in numbers]


def _listed(names: list[str]) -> str:
    return " and ".join([", ".join(names[:-1])] * (len(names) > 1) + names[-1:])
