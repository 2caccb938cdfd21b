"""Reinforcement-learning data one can trust."""
