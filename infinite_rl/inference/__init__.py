"""Ask a model, journal the answer, pay for it once."""
