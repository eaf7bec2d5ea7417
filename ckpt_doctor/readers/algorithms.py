"""What each optimizer keeps for a parameter, by the names of its state.

A state dict does not record its optimizer's class: the names of the state and of the group options
give it away. Sources: ``torch/optim/*.py`` of PyTorch 2.0 to 2.14; the optimizers of transformers,
timm, apex, Megatron, bitsandbytes, torchao, lion-pytorch, schedulefree, prodigyopt and pytorch_optimizer.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple


class Algorithm(NamedTuple):
    """One optimizer, or a family that state alone cannot tell apart."""

    name: str
    full: frozenset[str]
    """Names of state that has the parameter's shape."""
    free: frozenset[str] = frozenset()
    """Names of state whose size is the algorithm's own business: factors, projections, code books."""
    scalars: frozenset[str] = frozenset()
    """Names of zero-dimensional state."""
    marks: frozenset[str] = frozenset()
    """Group options that this optimizer has and its likes have not."""

    @property
    def names(self) -> frozenset[str]:
        """All names of its state."""
        return self.full | self.free | self.scalars


def _algorithm(name: str, full: str, *, free: str = "", scalars: str = "step", marks: str = "") -> Algorithm:
    def words(text: str) -> frozenset[str]:
        return frozenset(text.split())

    return Algorithm(name, words(full), words(free), words(scalars), words(marks))


ALGORITHMS: tuple[Algorithm, ...] = (
    _algorithm("SGD", "momentum_buffer", scalars="", marks="momentum dampening nesterov"),
    _algorithm("Muon", "momentum_buffer", scalars="", marks="ns_steps"),
    _algorithm("Muon with Adam", "momentum_buffer exp_avg exp_avg_sq", marks="use_muon"),
    _algorithm("Adam/AdamW", "exp_avg exp_avg_sq max_exp_avg_sq", marks="betas amsgrad"),
    _algorithm("Adam-like", "exp_avg exp_avg_sq", marks="betas"),
    _algorithm("Adam with master weights", "exp_avg exp_avg_sq fp32_param master_param param"),
    _algorithm("Adamax", "exp_avg exp_inf", marks="betas"),
    _algorithm("NAdam", "exp_avg exp_avg_sq", scalars="step mu_product", marks="momentum_decay"),
    _algorithm("RMSprop", "square_avg momentum_buffer grad_avg", marks="alpha centered"),
    _algorithm("Adagrad", "sum", marks="lr_decay initial_accumulator_value"),
    _algorithm("Adadelta", "square_avg acc_delta", marks="rho"),
    _algorithm("ASGD", "ax", scalars="step eta mu", marks="lambd t0"),
    _algorithm("Rprop", "prev step_size", marks="etas step_sizes"),
    _algorithm(
        "LBFGS", "", free="d old_dirs old_stps ro al prev_flat_grad", marks="history_size",
        scalars="func_evals n_iter t H_diag prev_loss",
    ),
    _algorithm("Adafactor", "", free="row_var col_var variance", marks="beta2_decay"),
    _algorithm(
        "Adafactor (transformers, timm)", "exp_avg", scalars="step RMS",
        free="exp_avg_sq_row exp_avg_sq_col exp_avg_sq_r exp_avg_sq_c exp_avg_sq",
    ),
    _algorithm(
        "CAME", "exp_avg", scalars="step RMS",
        free="exp_avg_sq_row exp_avg_sq_col exp_avg_res_row exp_avg_res_col exp_avg_sq",
    ),
    _algorithm("Lion", "exp_avg", marks="betas"),
    _algorithm("AdaBelief", "exp_avg exp_avg_var max_exp_avg_var", marks="betas"),
    _algorithm("Adan", "exp_avg exp_avg_sq exp_avg_diff previous_grad neg_pre_grad", marks="betas"),
    _algorithm("AdEMAMix", "exp_avg exp_avg_sq exp_avg_slow", marks="betas"),
    _algorithm("Prodigy", "s p0 exp_avg exp_avg_sq", marks="d0 d_coef"),
    _algorithm("Schedule-Free", "z exp_avg_sq", marks="weight_sum"),
    _algorithm("Adam-mini", "m", free="v_mean v", scalars="step stepn"),
    _algorithm("GaLore/APOLLO", "", free="exp_avg exp_avg_sq projector", marks="rank"),
    _algorithm("SOAP", "exp_avg exp_avg_sq", free="GG Q project", marks="precondition_frequency"),
    _algorithm(
        "bitsandbytes 8-bit", "", marks="betas",
        free="state1 state2 absmax1 absmax2 qmap1 qmap2 max1 max2 new_max1 new_max2 unorm_vec gnorm_vec "
        "__bnb_optimizer_quant_state__",
    ),
    _algorithm("fastai", "grad_avg sqr_avg", scalars="step"),
)  # fmt: skip


def recognise(state_names: Collection[str], option_names: Collection[str]) -> Algorithm | None:
    """The algorithm that explains most of the state's names, and of the group options among equals.

    Names that it does not explain are looked at as extra; one that explains fewer than half is no match.
    """
    names, options = frozenset(state_names), frozenset(option_names)
    if not names:
        return _by_marks(options)
    best = max(ALGORITHMS, key=lambda each: _score(each, names, options))
    explained = names & best.names
    own = explained - {"step"}
    return best if own and 2 * len(explained) > len(names) else None


def _by_marks(options: frozenset[str]) -> Algorithm | None:
    """The algorithm of an optimizer without state, as plain SGD: only its options are left to tell it."""
    marked = [each for each in ALGORITHMS if len(each.marks) > 1 and each.marks <= options]
    return max(marked, key=lambda each: len(each.marks), default=None)


def _score(algorithm: Algorithm, names: frozenset[str], options: frozenset[str]) -> tuple[float, ...]:
    explained = len(names & algorithm.names)
    marked = len(options & algorithm.marks)
    share = marked / len(algorithm.marks) if algorithm.marks else 0.0
    unused = len((algorithm.full | algorithm.free) - names)
    return (explained, share, marked, -unused)
