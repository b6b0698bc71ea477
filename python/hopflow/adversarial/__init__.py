"""Adversarial nets: a generator and a discriminator that are trained against each other.

The method and the experiments are those of Goodfellow et al., "Generative Adversarial Nets"
(NIPS 2014). Needs the extra: `pip install 'hopflow[adversarial]'`.

    game = paper.mnist(images)                      # nets and settings
    training = train(game, images, held_out, Plan(epochs=50))
    game.sample(training.best, 100, seed=1)         # 100 images

Where is what: `nets` and `convolutional` (modules), `losses`, `optimisers`, `algorithm`
(Algorithm 1), `training` (epochs, choice of one, checkpoints), `parzen` (log-likelihood), `quality`
(what blur cannot buy), `paper` (the authors' nets), `extensions` (section 7), `theory` (section 4),
`data` (data sets), `reproduce` (figures and tables).
"""

from hopflow.adversarial.algorithm import Game
from hopflow.adversarial.nets import Layer, Perceptron
from hopflow.adversarial.optimisers import Adam, Momentum
from hopflow.adversarial.parzen import Estimate
from hopflow.adversarial.settings import Progress, Settings, State
from hopflow.adversarial.training import Plan, Training, train

__all__ = [
    "Adam",
    "Estimate",
    "Game",
    "Layer",
    "Momentum",
    "Perceptron",
    "Plan",
    "Progress",
    "Settings",
    "State",
    "Training",
    "train",
]
