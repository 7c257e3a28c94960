"""The commands of `fairexp`, one module each; they are imported when called for."""
