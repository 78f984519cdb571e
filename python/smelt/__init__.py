"""Smelt: fusion autotuning of JAX programs.

    import smelt.jax                        # tune and optimize
"""
from smelt.program import ProgramError, find_program

__all__ = ["ProgramError", "find_program"]
__version__ = "0.1.0"
