"""Users as models that are learned from published traffic.

Steps of sessions (`step`), read from published files (`data`), become vectors (`vector`) with
fitted marginals (`marginals`). Models draw new ones: independent distributions, resampling
(`baselines`), a Gaussian copula (`copula`), the Markov models of CCS '18 (`markov`) and a generator
that is trained against a discriminator (`generator`). `metrics` compares them with sessions that
none was fitted on; `files` writes them for the simulator.
"""
