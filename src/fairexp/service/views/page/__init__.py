"""The page at `/`: its files, and its charts, drawn by the same definitions as the reports."""
