"""Rankers: from a query to a belief, and from clicks back to what is believed. One file per algorithm."""
