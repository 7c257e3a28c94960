"""What happened: quality, unfairness, regret, and the fairness measures of the field."""

from fairexp.lab.metrics.disparity import exposure_per_merit, impact_per_merit, largest_ratio, top_k_shares
from fairexp.lab.metrics.expected_exposure import ExpectedExposure, expected_exposure, target_exposure
from fairexp.lab.metrics.inequality import gini, item_disparity, max_min_share
from fairexp.lab.metrics.ndcg import GAMMA, dataset_ndcg, discounted, ndcg, total_discount
from fairexp.lab.metrics.regret import misordered_pairs
from fairexp.lab.metrics.representation import awrf, ndkl
from fairexp.lab.metrics.unfairness import exposure_by_group, pair_unfairness, unfairness_trace

__all__ = [
    "GAMMA",
    "ExpectedExposure",
    "awrf",
    "dataset_ndcg",
    "discounted",
    "expected_exposure",
    "exposure_by_group",
    "exposure_per_merit",
    "gini",
    "impact_per_merit",
    "item_disparity",
    "largest_ratio",
    "max_min_share",
    "misordered_pairs",
    "ndcg",
    "ndkl",
    "pair_unfairness",
    "target_exposure",
    "top_k_shares",
    "total_discount",
    "unfairness_trace",
]
