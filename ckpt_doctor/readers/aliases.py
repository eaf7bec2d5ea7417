"""Key names that people use for each state in files of no known framework, compared in lower case."""

from __future__ import annotations

import re

MODEL = frozenset(
    [
        "model",
        "state_dict",
        "model_state_dict",
        "model_state",
        "module",
        "net",
        "network",
        "netg",
        "netd",
        "generator",
        "discriminator",
        "generator_state_dict",
        "discriminator_state_dict",
        "net_state_dict",
        "params",
        "weights",
        "weight",
        "model_weights",
        "modelstate",
        "model_dict",
        "unet",
        "transformer",
        "encoder",
        "decoder",
        "backbone",
        "policy",
        "actor",
        "critic",
        "student",
    ]
)
OPTIMIZER = re.compile(r"(.*[_./])?(optim|optims|opt|optimizer|optimizers|optimiser)([_./].*|\d*)")
NOT_OPTIMIZER = re.compile(r".*(name|class|type|param|config|args|cfg|lr|step|kwargs).*")
SCHEDULER = re.compile(
    r"(.*[_./])?(scheduler|schedulers|lr_sched|sched|lr_scheduler|lr_schedulers|param_schedulers)(_state|_state_dict|_dict|_\d+|\d*)"
)
SCALER = re.compile(
    r"(.*_)?(scaler|grad_scaler|amp_scaler|scaler_state_dict|scaler_state|gradscaler|native_amp_scaling_state|"
    r"amp_scaling_state)|mixedprecision|fsdpprecision|amp"
)
STEP = frozenset(
    [
        "global_step",
        "step",
        "steps",
        "iteration",
        "iter",
        "iter_num",
        "iters",
        "step_count",
        "global_steps",
        "num_updates",
        "current_step",
        "optimizer_step",
        "optimizer_steps",
        "train_step",
        "train_steps",
        "total_steps_done",
        "num_steps",
        "steps_run",
        "step_num",
        "num_timesteps",
        "it",
        "n_iter",
        "current_iter",
        "global_iter",
        "trained_steps",
        "steps_done",
        "updates",
    ]
)
EPOCH = frozenset(
    [
        "epoch",
        "epochs_run",
        "finished_epoch",
        "current_epoch",
        "start_epoch",
        "epochs",
        "epoch_num",
        "num_epoch",
        "last_epoch_done",
        "cur_epoch",
        "global_epoch",
        "epoch_idx",
    ]
)
POSITION = frozenset(
    [
        "batches_done",
        "batch_in_epoch",
        "batch_idx",
        "batches_seen",
        "batch_index",
        "samples_seen",
        "samples_done",
        "consumed_samples",
        "consumed_train_samples",
        "dataloader_position",
        "data_position",
        "loader_position",
        "position",
        "batch_offset",
        "sample_in_epoch",
        "num_samples_yielded",
        "batches_that_stepped_loader",
        "num_yielded",
        "batches_yielded",
        "samples_yielded",
        "step_in_epoch",
        "iterations_in_epoch",
        "batches_consumed",
        "data_offset",
        "start_batch",
        "next_batch",
    ]
)
SAMPLER_EPOCH = frozenset(["sampler_epoch", "data_epoch", "shuffle_epoch", "epoch_of_sampler"])
SAMPLER_SEED = frozenset(
    [
        "sampler_rng",
        "sampler_seed",
        "sampler_generator",
        "sampler_rng_state",
        "generator_state",
        "shuffle_seed",
        "data_seed",
        "sampler_state",
        "loader_generator",
        "generator_at_epoch_start",
        "order",
        "shuffle",
        "permutation",
        "data_rng",
        "dataloader_generator",
    ]
)
LOADER = re.compile(
    r"(.*_)?(data_?loader|loader|sampler|train_dl|dl_state_dict|data_?module|dataset)s?(_.*|\d*)?"
)
LOADER_ARGUMENTS = frozenset(
    [
        "num_workers",
        "dataloader_num_workers",
        "prefetch_factor",
        "dataloader_prefetch_factor",
        "persistent_workers",
        "dataloader_persistent_workers",
        "pin_memory",
        "dataloader_pin_memory",
        "workers",
        "cache_images",
    ]
)
COMPILE = frozenset(["torch_compile", "compile", "use_compile", "compile_model"])
PRECISION = frozenset(["precision", "dtype", "mixed_precision", "amp_dtype"])
HALF = ("16-mixed", "float16", "fp16", "16", 16)
"""Settings of training in float16, which needs a gradient scaler."""
EMA = re.compile(r"(.*[_.])?(ema|swa|ema_model|averaged|averaging|polyak|teacher|shadow)([_.].*|\d*)?")
GRADIENTS = re.compile(r"(.*_)?(grad|grads|gradient|gradients)(_.*)?")
RNG = re.compile(r".*(rng|random|seed|generator).*")
COMPILE_CACHE = re.compile(r".*(compile_cache|cache_artifacts|mega_?cache|inductor_cache).*")
CONFIGURATION = re.compile(
    r"(config|cfg|args|hparams|hyper_?parameters|model_args|train_args|training_args|options|opts|params_config|"
    r"datamodule_hyper_parameters|dataset_meta|log_history|history|metrics|callbacks|loops|message_hub|ds_config)"
)
"""Where counters and switches are settings, not state."""
