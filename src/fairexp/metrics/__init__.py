"""What happened: quality, unfairness, regret, and the fairness measures of the field."""

from fairexp.metrics.disparity import exposure_per_merit, impact_per_merit, largest_ratio, top_k_shares
from fairexp.metrics.expected_exposure import ExpectedExposure, expected_exposure, target_exposure
from fairexp.metrics.inequality import gini, item_disparity, max_min_share
from fairexp.metrics.ndcg import GAMMA, dataset_ndcg, discounted, ndcg, total_discount
from fairexp.metrics.regret import misordered_pairs
from fairexp.metrics.representation import awrf, ndkl
from fairexp.metrics.unfairness import exposure_by_group, pair_unfairness, unfairness_trace

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
