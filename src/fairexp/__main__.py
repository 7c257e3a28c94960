"""`python -m fairexp` is the command `fairexp`."""

from fairexp.cli import main

if __name__ == "__main__":
    main()
