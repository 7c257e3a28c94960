"""The search for templates."""
