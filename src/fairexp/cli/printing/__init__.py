"""What the commands print: tables, summaries over seeds, progress, claims, and the words of the demo."""
