"""The routes, by whom they serve."""
