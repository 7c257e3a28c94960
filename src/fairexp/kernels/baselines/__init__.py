"""Loops of the fair rankers that FairExp is compared with."""
