"""What rankers that follow gradients of clicks compute: interleaved lists, and lists replayed."""
