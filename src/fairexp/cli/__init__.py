"""The command line: parse, call the library, print. Nothing is computed here."""

from fairexp.cli.entry import app, main

__all__ = ["app", "main"]
