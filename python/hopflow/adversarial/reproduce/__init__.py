"""The figures and tables of Goodfellow et al. 2014, made again."""
