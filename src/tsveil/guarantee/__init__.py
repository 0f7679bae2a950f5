"""What a release promises, one file per promise, with a verifier that reads the published values alone. Nothing here knows which method made them."""
