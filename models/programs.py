"""The example programs of Smelt, written in plain JAX.

`PROGRAMS` maps a name to a `Program`: a function and the description of its arguments. Weights are arguments, never constants,
so that a dumped program is small and its kernels are those of a deployed model. `dump.py` writes them as HLO text.
"""
from typing import Callable, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from layers import (Leaf, attention, attention_leaves, batch_norm, batch_norm_leaves, conv, conv_leaf, conv_transpose, dense,
                    dense_leaves, layer_norm, layer_norm_leaves, lstm_cell, lstm_leaves, max_pool, offset, weight)


class Program(NamedTuple):
    function: Callable
    arguments: tuple  # a tree of Leaf for every argument of the function


# --- ResNet-18 (He et al., 2015), 224 x 224, inference ----------------------------------------------------------------------

RESNET18_STAGES = ((64, 1), (128, 2), (256, 2), (512, 2))  # channels, stride of the first block


def resnet_block_leaves(inputs, outputs, stride):
    # The second convolution starts smaller: its result is added to the shortcut, and eight sums must not grow.
    leaves = {"conv1": conv_leaf(3, inputs, outputs), "norm1": batch_norm_leaves(outputs),
              "conv2": conv_leaf(3, outputs, outputs, gain=0.5), "norm2": batch_norm_leaves(outputs)}
    if stride != 1 or inputs != outputs:
        leaves |= {"conv_shortcut": conv_leaf(1, inputs, outputs, gain=1.0), "norm_shortcut": batch_norm_leaves(outputs)}
    return leaves


def resnet_block(p, x, stride):
    shortcut = x
    if "conv_shortcut" in p:
        shortcut = batch_norm(p["norm_shortcut"], conv(p["conv_shortcut"], x, stride))
    y = jax.nn.relu(batch_norm(p["norm1"], conv(p["conv1"], x, stride)))
    y = batch_norm(p["norm2"], conv(p["conv2"], y))
    return jax.nn.relu(y + shortcut)


def resnet18(params, image):
    x = jax.nn.relu(batch_norm(params["stem_norm"], conv(params["stem_conv"], image, stride=2)))
    x = max_pool(x, size=3, stride=2)
    for stage, (_, stride) in enumerate(RESNET18_STAGES):
        x = resnet_block(params[f"stage{stage}_block0"], x, stride)
        x = resnet_block(params[f"stage{stage}_block1"], x, 1)
    return dense(params["head"], jnp.mean(x, axis=(1, 2)))


def resnet18_arguments():
    leaves = {"stem_conv": conv_leaf(7, 3, 64), "stem_norm": batch_norm_leaves(64), "head": dense_leaves(512, 1000)}
    channels = 64
    for stage, (outputs, stride) in enumerate(RESNET18_STAGES):
        leaves[f"stage{stage}_block0"] = resnet_block_leaves(channels, outputs, stride)
        leaves[f"stage{stage}_block1"] = resnet_block_leaves(outputs, outputs, 1)
        channels = outputs
    return leaves, Leaf((1, 224, 224, 3), -1.0, 1.0)


# --- MobileNet v1 (Howard et al., 2017), 224 x 224, inference ---------------------------------------------------------------

MOBILENET_BLOCKS = ((64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2), (512, 1), (512, 1), (512, 1), (512, 1), (512, 1),
                    (1024, 2), (1024, 1))  # channels, stride of the depthwise convolution


def mobilenet(params, image):
    x = jax.nn.relu6(batch_norm(params["stem_norm"], conv(params["stem_conv"], image, stride=2)))
    for block, (_, stride) in enumerate(MOBILENET_BLOCKS):
        p = params[f"block{block:02d}"]
        x = conv(p["depthwise"], x, stride, groups=x.shape[-1])
        x = jax.nn.relu6(batch_norm(p["depthwise_norm"], x))
        x = jax.nn.relu6(batch_norm(p["pointwise_norm"], conv(p["pointwise"], x)))
    return jax.nn.softmax(dense(params["head"], jnp.mean(x, axis=(1, 2))))


def mobilenet_arguments():
    leaves = {"stem_conv": conv_leaf(3, 3, 32), "stem_norm": batch_norm_leaves(32), "head": dense_leaves(1024, 1000, gain=4.0)}
    channels = 32
    for block, (outputs, _) in enumerate(MOBILENET_BLOCKS):
        leaves[f"block{block:02d}"] = {
            "depthwise": conv_leaf(3, channels, channels, groups=channels), "depthwise_norm": batch_norm_leaves(channels),
            "pointwise": conv_leaf(1, channels, outputs), "pointwise_norm": batch_norm_leaves(outputs)}
        channels = outputs
    return leaves, Leaf((1, 224, 224, 3), -1.0, 1.0)


# --- LSTM language model (Zaremba et al., 2014, "medium"), 35 steps ---------------------------------------------------------

VOCABULARY, HIDDEN, STEPS, LAYERS = 10000, 650, 35, 2


def lstm_lm_step(params, state, x):
    """One word through all layers; returns the new state and the top layer's output."""
    new_state = []
    for layer in range(LAYERS):
        hidden, cell = lstm_cell(params[f"lstm{layer}"], state[layer], x)
        new_state.append((hidden, cell))
        x = hidden
    return tuple(new_state), x


def lstm_lm(params, tokens, state):
    """Scores of the next word after every word of `tokens` [STEPS, batch], and the state to go on with."""
    words = params["embedding"][tokens]
    state, tops = lax.scan(lambda state, x: lstm_lm_step(params, state, x), state, words)
    return dense(params["decoder"], tops), state


def lstm_lm_arguments():
    leaves = {"embedding": Leaf((VOCABULARY, HIDDEN), -1.0, 1.0), "decoder": dense_leaves(HIDDEN, VOCABULARY, gain=4.0)}
    leaves |= {f"lstm{layer}": lstm_leaves(HIDDEN, HIDDEN) for layer in range(LAYERS)}
    state = tuple((Leaf((1, HIDDEN), -0.5, 0.5), Leaf((1, HIDDEN), -1.0, 1.0)) for _ in range(LAYERS))
    return leaves, Leaf((STEPS, 1), 0, VOCABULARY, "int32"), state


# --- DQN (Mnih et al., 2015): four frames of 84 x 84 to the values of 18 actions --------------------------------------------

DQN_CONVOLUTIONS = ((8, 4, 32), (4, 2, 64), (3, 1, 64))  # size, stride, channels


def dqn(params, frames):
    x = frames.astype(jnp.float32) / 255.0
    for layer, (_, stride, _) in enumerate(DQN_CONVOLUTIONS):
        p = params[f"conv{layer}"]
        x = jax.nn.relu(conv(p["kernel"], x, stride, "VALID") + p["bias"])
    x = jax.nn.relu(dense(params["hidden"], x.reshape(x.shape[0], -1)))
    return dense(params["values"], x)


def dqn_arguments():
    leaves, channels = {}, 4
    for layer, (size, _, outputs) in enumerate(DQN_CONVOLUTIONS):
        leaves[f"conv{layer}"] = {"bias": offset(outputs), "kernel": conv_leaf(size, channels, outputs, gain=4.0)}
        channels = outputs
    leaves |= {"hidden": dense_leaves(7 * 7 * 64, 512, gain=2.0), "values": dense_leaves(512, 18)}
    return leaves, Leaf((1, 84, 84, 4), 0, 256, "uint8")


# --- DCGAN generator (Radford et al., 2015): 100 numbers to a picture of 64 x 64 --------------------------------------------

DCGAN_CHANNELS = (512, 256, 128, 64)  # at 4 x 4, 8 x 8, 16 x 16 and 32 x 32


def dcgan_generator(params, noise):
    x = dense(params["project"], noise).reshape(-1, 4, 4, DCGAN_CHANNELS[0])
    x = jax.nn.relu(batch_norm(params["project_norm"], x))
    for layer in range(1, len(DCGAN_CHANNELS)):
        x = conv_transpose(params[f"up{layer}"], x, 2)
        x = jax.nn.relu(batch_norm(params[f"up{layer}_norm"], x))
    return jnp.tanh(conv_transpose(params["picture"], x, 2))


def dcgan_generator_arguments():
    leaves = {"project": dense_leaves(100, 4 * 4 * DCGAN_CHANNELS[0]), "project_norm": batch_norm_leaves(DCGAN_CHANNELS[0])}
    # A transposed convolution of stride 2 reads a quarter of its 5 x 5 taps for each output.
    for layer, (inputs, outputs) in enumerate(zip(DCGAN_CHANNELS, DCGAN_CHANNELS[1:]), start=1):
        leaves[f"up{layer}"] = weight(5, 5, inputs, outputs, fan_in=25 * inputs / 4, gain=2.0)
        leaves[f"up{layer}_norm"] = batch_norm_leaves(outputs)
    leaves["picture"] = weight(5, 5, DCGAN_CHANNELS[-1], 3, fan_in=25 * DCGAN_CHANNELS[-1] / 4, gain=0.5)
    return leaves, Leaf((1, 100), -1.0, 1.0)


# --- One encoder block of BERT base (Devlin et al., 2018) -------------------------------------------------------------------

def bert_block(params, x, mask):
    x = layer_norm(params["attention_norm"], x + attention(params["attention"], x, heads=12, mask=mask))
    y = jax.nn.gelu(dense(params["expand"], x), approximate=False)
    return layer_norm(params["output_norm"], x + dense(params["contract"], y))


def bert_block_arguments():
    features, inner, length = 768, 3072, 128
    leaves = {"attention": attention_leaves(features), "attention_norm": layer_norm_leaves(features),
              "expand": dense_leaves(features, inner), "contract": dense_leaves(inner, features, gain=2.0),
              "output_norm": layer_norm_leaves(features)}
    return leaves, Leaf((1, length, features), -1.7, 1.7), Leaf((1, length), 0, 2, "int32")


# --- Multi-head attention (Vaswani et al., 2017): 8 heads of 64 -------------------------------------------------------------

def multi_head_attention(params, x):
    return attention(params, x, heads=8)


def multi_head_attention_arguments():
    # Inputs of variance 3 make the scores spread enough that the softmax is not nearly uniform.
    return attention_leaves(512), Leaf((1, 128, 512), -3.0, 3.0)


# --- A training step: a small network for 28 x 28 digits, cross-entropy, SGD with momentum ----------------------------------

def digits_network(params, images):
    x = images
    for layer in ("conv1", "conv2"):
        x = jax.nn.relu(conv(params[layer]["kernel"], x, stride=2) + params[layer]["bias"])
    x = jax.nn.relu(dense(params["hidden"], x.reshape(x.shape[0], -1)))
    return dense(params["output"], x)


def cross_entropy(params, images, labels):
    scores = jax.nn.log_softmax(digits_network(params, images))
    return -jnp.mean(jnp.sum(jax.nn.one_hot(labels, scores.shape[-1]) * scores, axis=-1))


def train_step(params, momentum, images, labels, learning_rate):
    """Returns the new weights, the new momentum and the loss."""
    loss, gradient = jax.value_and_grad(cross_entropy)(params, images, labels)
    momentum = jax.tree.map(lambda m, g: 0.9 * m + g, momentum, gradient)
    params = jax.tree.map(lambda p, m: p - learning_rate * m, params, momentum)
    return params, momentum, loss


def train_step_arguments():
    batch = 32
    leaves = {"conv1": {"bias": offset(16), "kernel": conv_leaf(3, 1, 16)},
              "conv2": {"bias": offset(32), "kernel": conv_leaf(3, 16, 32)},
              "hidden": dense_leaves(7 * 7 * 32, 64, gain=2.0), "output": dense_leaves(64, 10)}
    # Momentum of the size of one gradient, and a large step: an error in the gradient must show in the new weights.
    momentum = jax.tree.map(lambda leaf: Leaf(leaf.shape, -0.01, 0.01), leaves, is_leaf=lambda x: isinstance(x, Leaf))
    return (leaves, momentum, Leaf((batch, 28, 28, 1), 0.0, 1.0), Leaf((batch,), 0, 10, "int32"), Leaf((), 0.4, 0.6))


# --- Gray-Scott reaction and diffusion (Pearson, 1993): spots and stripes on a grid without borders --------------------------

GRID, REACTION_STEPS = 128, 20
FEED, KILL = 0.055, 0.062


def laplacian(x):
    """Nine points: the neighbours' weighted mean less the point itself."""
    edges = sum(jnp.roll(x, shift, axis) for axis in (0, 1) for shift in (1, -1))
    corners = sum(jnp.roll(x, (down, right), (0, 1)) for down in (1, -1) for right in (1, -1))
    return 0.2 * edges + 0.05 * corners - x


def gray_scott(fed, eater):
    """Both concentrations after REACTION_STEPS steps; where the two meet, one of the fed becomes one of the eater."""
    def step(state, _):
        fed, eater = state
        reaction = fed * eater * eater
        return (fed + laplacian(fed) - reaction + FEED * (1.0 - fed),
                eater + 0.5 * laplacian(eater) + reaction - (FEED + KILL) * eater), None

    return lax.scan(step, (fed, eater), length=REACTION_STEPS)[0]


def gray_scott_arguments():
    return Leaf((GRID, GRID), 0.4, 1.0), Leaf((GRID, GRID), 0.0, 0.5)


PROGRAMS = {
    "resnet18": Program(resnet18, resnet18_arguments()),
    "mobilenet": Program(mobilenet, mobilenet_arguments()),
    "lstm_lm": Program(lstm_lm, lstm_lm_arguments()),
    "dqn": Program(dqn, dqn_arguments()),
    "dcgan_generator": Program(dcgan_generator, dcgan_generator_arguments()),
    "bert_block": Program(bert_block, bert_block_arguments()),
    "attention": Program(multi_head_attention, multi_head_attention_arguments()),
    "train_step": Program(train_step, train_step_arguments()),
    "gray_scott": Program(gray_scott, gray_scott_arguments()),
}
