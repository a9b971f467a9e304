# SPDX-License-Identifier: Apache-2.0
"""Predictions: the time of a run on a machine with another placement of pages and threads."""

from numascape.prediction.demand import Demand, demand_of
from numascape.prediction.load import RunPlacement
from numascape.prediction.model import PhasePrediction, Prediction, predict
from numascape.prediction.policies import (
    first_touch,
    interleave,
    observed,
    placed_by_plan,
    weighted_interleave,
)
from numascape.prediction.speeds import Speeds, speeds_of

__all__ = [
    "Demand",
    "PhasePrediction",
    "Prediction",
    "RunPlacement",
    "Speeds",
    "demand_of",
    "first_touch",
    "interleave",
    "observed",
    "placed_by_plan",
    "predict",
    "speeds_of",
    "weighted_interleave",
]
