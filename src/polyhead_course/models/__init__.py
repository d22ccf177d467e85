"""The models that chapters load, and the tables of the experiments on their heads.

What trains and measures them is in the repository's folder `experiments/`, which is not part of the package.
"""
