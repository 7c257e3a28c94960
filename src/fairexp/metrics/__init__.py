"""What happened: quality, unfairness, regret and disparity."""

from fairexp.metrics.disparity import exposure_per_merit, impact_per_merit, top_k_shares
from fairexp.metrics.ndcg import GAMMA, dataset_ndcg, discounted, ndcg, total_discount
from fairexp.metrics.regret import misordered_pairs
from fairexp.metrics.unfairness import exposure_by_group, pair_unfairness, unfairness_trace

__all__ = [
    "GAMMA",
    "dataset_ndcg",
    "discounted",
    "exposure_by_group",
    "exposure_per_merit",
    "impact_per_merit",
    "misordered_pairs",
    "ndcg",
    "pair_unfairness",
    "top_k_shares",
    "total_discount",
    "unfairness_trace",
]
