"""The page at `/`: its template and files, and its charts, drawn by the same definitions as the reports."""
