"""What it takes to train with a schedule: stages, messages, passes, versions of weights, one interpreter."""
