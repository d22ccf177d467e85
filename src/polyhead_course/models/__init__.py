"""The models that chapters load, how they were trained, and the experiments on their heads."""
