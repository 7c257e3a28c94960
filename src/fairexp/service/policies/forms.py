"""What all parts of a policy have in common."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

Label = Annotated[str, Field(min_length=1, max_length=128)]
Positive = Annotated[float, Field(gt=0, le=1e12)]


class Strict(BaseModel):
    """No unknown fields, no text where a number belongs, no NaN and no infinity."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False, frozen=True)
