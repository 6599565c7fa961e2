"""Number fields whose error says what the number means, not only which limit it broke."""

from typing import Annotated, Any

from pydantic import Field, ValidationError, ValidatorFunctionWrapHandler, WrapValidator
from pydantic_core import PydanticCustomError


def taught(hint: str) -> WrapValidator:
    """Add ``hint`` to the message of any error of the field; ``true``/``false`` are no numbers here."""

    def validate(value: Any, handler: ValidatorFunctionWrapHandler) -> Any:
        if isinstance(value, bool):
            raise PydanticCustomError("number", "true/false is not a number. {hint}", {"hint": hint})
        try:
            return handler(value)
        except ValidationError as error:
            said = error.errors()[0]["msg"]
            raise PydanticCustomError("number", "{said}. {hint}", {"said": said, "hint": hint}) from error

    return WrapValidator(validate)


# No run comes near the upper limits; they keep products finite.
Degree = Annotated[
    int,
    Field(ge=1, le=1_000_000),
    taught("A parallel size counts cards; it is a whole number, and 1 means this way of splitting is not used."),
]
BatchCount = Annotated[
    int,
    Field(ge=1, le=1_000_000_000),
    taught("Give a whole number of at least 1, for instance 4."),
]
Fraction = Annotated[
    float,
    Field(ge=0, le=1, allow_inf_nan=False),
    taught("Give a share between 0 and 1: 15 percent is 0.15."),
]
Bytes = Annotated[
    float,
    Field(gt=0, le=8, allow_inf_nan=False),
    taught("Give bytes per number: 4 for FP32, 2 for BF16 or FP16, 1 for FP8 or INT8, 0.5 for 4 bit."),
]
