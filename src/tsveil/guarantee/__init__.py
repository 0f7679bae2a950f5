"""What a release promises, and verifiers that read the published values alone."""
