"""The dtypes of both languages and their promotion.

A dtype is a `DType`. NumPy accepts one wherever it takes a dtype (`np.zeros(3, nl.bfloat16)`), and
it compares equal to the NumPy dtype or scalar type of the same name. Dtypes that hold four values
in an element have no NumPy counterpart but bytes of the same size.
"""

import functools

import ml_dtypes
import numpy as np


class DType:
    """A dtype: `name` as the device knows it, `itemsize` in bytes, `numpy` its NumPy dtype."""

    __slots__ = ("name", "itemsize", "numpy", "is_float", "is_integer", "is_signed", "_hash")

    def __init__(self, name: str, numpy=None):
        self.name = name
        self.numpy = np.dtype(numpy or name)
        self.itemsize = self.numpy.itemsize
        self.is_integer = self.numpy.kind in "biu"
        self.is_float = not self.is_integer and not name.endswith("_x4")
        self.is_signed = name.startswith("int")
        self._hash = hash((DType, name))

    @property
    def dtype(self) -> np.dtype:
        """What NumPy reads when it is given this object as a dtype."""
        return self.numpy

    @property
    def type(self):
        """The NumPy scalar type."""
        return self.numpy.type

    def __call__(self, value=0):
        """A NumPy scalar of this dtype, or an array of one.

        TypeError unless `value` is a number or an array of numbers and the dtype has scalars;
        ValueError for an integer that it does not hold.
        """
        if not (self.is_float or self.is_integer):
            raise TypeError(f"nl.{self.name}: an element holds four values and has no scalar.")
        numbers = value if isinstance(value, (np.ndarray, np.generic)) else None
        if numbers is not None:
            is_number = numbers.dtype.kind in "biuf" or numbers.dtype in _known
        else:
            is_number = hasattr(type(value), "__float__")
        if not is_number:
            raise TypeError(
                f"nl.{self.name}: 'value' is of type {type(value).__name__}, not a number."
            )
        try:
            if numbers is None and self.is_float:
                return self.numpy.type(float(value))
            return self.numpy.type(value) if numbers is None else numbers.astype(self.numpy)[()]
        except (OverflowError, ValueError):
            raise ValueError(
                f"nl.{self.name}: 'value' is {value!r:.40}, which it does not hold."
            ) from None

    def __eq__(self, other) -> bool:
        if self is other:
            return True
        if isinstance(other, DType):
            return False
        try:
            return dtype_of(other) is self
        except TypeError:
            return False

    def __hash__(self) -> int:
        return self._hash

    def __repr__(self) -> str:
        return self.name

    __str__ = __repr__

    def __reduce__(self) -> str:
        """A copy, deep or pickled, is the dtype itself: this module's attribute of its name."""
        return self.name


bool_ = DType("bool_", np.bool_)
int8 = DType("int8")
int16 = DType("int16")
int32 = DType("int32")
uint8 = DType("uint8")
uint16 = DType("uint16")
uint32 = DType("uint32")
float16 = DType("float16")
bfloat16 = DType("bfloat16", ml_dtypes.bfloat16)
tfloat32 = DType("tfloat32", np.float32)
float32 = DType("float32")
float8_e4m3 = DType("float8_e4m3", ml_dtypes.float8_e4m3)
float8_e5m2 = DType("float8_e5m2", ml_dtypes.float8_e5m2)
float8_e4m3fn = DType("float8_e4m3fn", ml_dtypes.float8_e4m3fn)
float8_e8m0fnu = DType("float8_e8m0fnu", ml_dtypes.float8_e8m0fnu)
float8_e5m2_x4 = DType("float8_e5m2_x4", (np.void, 4))
float8_e4m3fn_x4 = DType("float8_e4m3fn_x4", (np.void, 4))
float4_e2m1fn_x4 = DType("float4_e2m1fn_x4", (np.void, 2))

ALL = tuple([each for each in globals().values() if type(each) is DType])

#: Stored as fp32 by the vendor's simulation of the old language, and with NKI_PRECISE_FP=0.
WIDENED = frozenset((bfloat16, tfloat32, float8_e4m3, float8_e5m2, float8_e4m3fn))

_known: dict = {"bool": bool_, bool: bool_}
for _dtype in ALL:
    _known[_dtype.name] = _known[_dtype] = _dtype
    if _dtype is not tfloat32 and (_dtype.is_float or _dtype.is_integer):
        _known[_dtype.numpy] = _known[_dtype.numpy.type] = _dtype


def dtype_of(value) -> DType:
    """The DType of a DType, a NumPy dtype or scalar type, a torch dtype, or a name.

    TypeError for dtypes the device does not have (int64, float64 and others).
    """
    if type(value) is DType:
        return value
    name = str(value).removeprefix("torch.")
    for key in (lambda: value, lambda: name, lambda: np.dtype(value)):
        try:
            found = _known.get(key())
        except TypeError:  # not hashable, or nothing that NumPy knows
            continue
        if found is not None:
            return found
    raise TypeError(f"dtype '{name}' is not supported by the device.")


def from_array(value) -> DType:
    """The device's dtype for a host array: 8-byte numbers become 4-byte ones."""
    narrowed = {"int64": int32, "uint64": uint32, "float64": float32}
    name = str(value).removeprefix("torch.")
    return narrowed.get(name) or dtype_of(value)


def of_scalar(value) -> DType:
    """The dtype of a Python or NumPy scalar: bool -> uint8, int -> int32, float -> float32."""
    if isinstance(value, (bool, np.bool_)):
        return uint8
    if isinstance(value, int):
        return int32
    if isinstance(value, float):
        return float32
    return from_array(value.dtype)


def promote(*values) -> DType:
    """The dtype that a computation on these dtypes has (Python scalars stand for their dtype).

    The vendor's table of type promotion (page of NKI data types): a float beats an integer; of two
    floats the wider, of two of equal width and different formats the next wider; of integers the
    smallest that holds both, float32 when there is none.
    """
    if len(values) == 2 and type(values[1]) is float and type(values[0]) is DType:
        return float32  # the most common pair: no dtype is wider than a number's
    result: DType | None = None
    for value in values:
        dtype = value if type(value) is DType else _operand_dtype(value)
        result = dtype if result is None or result is dtype else _promoted(result, dtype)
    if result is None:
        raise TypeError("an operator of tiles got no tensor.")
    return result


def _operand_dtype(value) -> DType:
    if isinstance(value, (bool, int, float, np.generic)):
        return of_scalar(value)
    return dtype_of(value)


@functools.cache
def _promoted(a: DType, b: DType) -> DType:
    if a.is_float != b.is_float:
        return a if a.is_float else b
    larger = a if a.itemsize >= b.itemsize else b
    if a.is_float:
        same = {1: bfloat16, 2: float32, 4: float32}[a.itemsize]
        return same if a.itemsize == b.itemsize else larger
    if bool_ in (a, b):
        return b if a is bool_ else a
    if a.is_signed == b.is_signed:
        return larger
    signed, unsigned = (a, b) if a.is_signed else (b, a)
    if signed.itemsize > unsigned.itemsize:
        return signed
    return {1: int16, 2: int32, 4: float32}[unsigned.itemsize]
