"""Plans the arms of a paired experiment, runs them, samples them from outside, stops them."""
