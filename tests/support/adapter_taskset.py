"""What a user of verifiers writes; found by its name, as verifiers finds tasksets."""

from infinite_rl.adapters.verifiers import InfiniteRLTaskset

__all__ = ["InfiniteRLTaskset"]
