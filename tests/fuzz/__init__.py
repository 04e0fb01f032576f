"""Senders that say what nobody would say. Small budgets run with the tests; the long runs are commands:

python -m tests.fuzz.frames --count 1000000      mutated frames through the real socket application
python -m tests.fuzz.atheris_targets frame|keep|fold [libFuzzer options]      where atheris is installed
FOOTPRINT_FAULTS=10 python -m pytest tests/fuzz  ten times the budget of every test
"""
