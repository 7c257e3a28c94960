"""Commands on what runs and logs have kept, one file each."""
