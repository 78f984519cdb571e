"""Smelt: fusion autotuning of JAX programs.

    import smelt.jax                        # tune JAX programs, and use the result
    import smelt.hlo, smelt.models          # modules; predictions of run time
    import smelt.corpus                     # corpora of timed kernels, without anything else
"""
from smelt.program import ProgramError, find_program

__all__ = ["ProgramError", "find_program"]
__version__ = "0.1.0"
