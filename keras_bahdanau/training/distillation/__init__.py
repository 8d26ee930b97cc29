"""A student learns what a teacher writes: hypotheses, their choice, the training, a comparison."""
