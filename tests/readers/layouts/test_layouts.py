"""Each framework's checkpoint is known by its marks, and missing states are told in its own words."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.distributed.checkpoint as dcp
from safetensors.torch import save_file
from torch import distributed
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import Shard, distribute_tensor

from ckpt_doctor.checks.engine import judge
from ckpt_doctor.facts.checkpoint import CheckpointFacts
from ckpt_doctor.facts.report import Case
from ckpt_doctor.facts.states import PresenceDetail, PresenceStatus, StateKind
from ckpt_doctor.readers.inspection import read_checkpoint
from ckpt_doctor.readers.layout import catalogue

POSITION = StateKind.DATALOADER_POSITION


def weights() -> dict[str, torch.Tensor]:
    """A tiny state dict."""
    return {"0.weight": torch.zeros(2, 3), "0.bias": torch.zeros(2)}


def optimizer() -> dict[str, Any]:
    """The state dict of an Adam over these weights."""
    parameters = [torch.nn.Parameter(value) for value in weights().values()]
    made = torch.optim.Adam(parameters)
    for parameter in parameters:
        parameter.grad = torch.ones_like(parameter)
    made.step()
    return made.state_dict()


def by_name(state: dict[str, Any]) -> dict[str, Any]:
    """An optimizer's state by the names of the parameters, as FSDP gathers it."""
    names = list(weights())
    groups = [{**group, "params": names} for group in state["param_groups"]]
    return {"state": {names[i]: entry for i, entry in state["state"].items()}, "param_groups": groups}


def scheduler() -> dict[str, Any]:
    """The state dict of a scheduler of torch."""
    made = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=0.1)
    return torch.optim.lr_scheduler.StepLR(made, 2).state_dict()


def loader() -> dict[str, Any]:
    """The state of a StatefulDataLoader with a stateful sampler."""
    inner = {"yielded": 2, "generator": torch.get_rng_state()}
    return {
        "_index_sampler_state": None,
        "_sampler_iter_state": {"samples_yielded": 4, "sampler_iter_state": inner},
        "_sampler_iter_yielded": 2,
        "_num_yielded": 2,
        "dataset_state": None,
    }


@pytest.fixture
def one_rank() -> Iterator[None]:
    """A process group of one process."""
    distributed.init_process_group("gloo", store=distributed.HashStore(), rank=0, world_size=1)
    yield
    distributed.destroy_process_group()


def _hf_trainer(folder: Path) -> None:
    save_file(weights(), folder / "model.safetensors")
    torch.save(optimizer(), folder / "optimizer.pt")
    torch.save(scheduler(), folder / "scheduler.pt")
    torch.save({"cpu": torch.get_rng_state()}, folder / "rng_state.pth")
    (folder / "trainer_state.json").write_text(
        json.dumps({"global_step": 4, "epoch": 0.5, "log_history": []})
    )


def _accelerate(folder: Path) -> None:
    save_file(weights(), folder / "model.safetensors")
    torch.save(optimizer(), folder / "optimizer.bin")
    torch.save({"step": 0, "torch_manual_seed": torch.get_rng_state()}, folder / "random_states_0.pkl")


def _stateful_accelerate(folder: Path) -> None:
    _accelerate(folder)
    torch.save(loader(), folder / "dl_state_dict.bin")


def _counting_accelerate(folder: Path) -> None:
    """The stateful loader of a shuffled dataset: it counts, but its order is not in it."""
    _accelerate(folder)
    torch.save({**loader(), "_sampler_iter_state": None}, folder / "dl_state_dict.bin")


def _distributed(folder: Path) -> None:
    dcp.save({"model": weights(), "optimizer": optimizer(), "step": 4}, checkpoint_id=folder, no_dist=True)


def _deepspeed(folder: Path) -> None:
    (folder / "latest").write_text("global_step4")
    tag = folder / "global_step4"
    tag.mkdir()
    model = {"module": weights(), "optimizer": None, "lr_scheduler": None, "global_steps": 4, "ds_config": {}}
    torch.save(model, tag / "mp_rank_00_model_states.pt")
    state = {"optimizer_state_dict": {"base_optimizer_state": optimizer(), "zero_stage": 1}}
    torch.save(state, tag / "zero_pp_rank_0_mp_rank_00_optim_states.pt")


def _kohya(folder: Path) -> None:
    _accelerate(folder)
    (folder / "train_state.json").write_text(json.dumps({"current_epoch": 1, "current_step": 4}))


def _peft(folder: Path) -> None:
    save_file(weights(), folder / "adapter_model.safetensors")
    (folder / "adapter_config.json").write_text("{}")


def _hf_weights(folder: Path) -> None:
    save_file(weights(), folder / "model.safetensors")
    (folder / "config.json").write_text("{}")


def _megatron(folder: Path) -> None:
    (folder / "latest_checkpointed_iteration.txt").write_text("10")
    rank = folder / "iter_0000010" / "mp_rank_00"
    rank.mkdir(parents=True)
    state = {"model": weights(), "optimizer": optimizer(), "iteration": 10, "checkpoint_version": 3.0}
    torch.save(state, rank / "model_optim_rng.pt")


def _torchtune(folder: Path) -> None:
    (folder / "epoch_0").mkdir()
    (folder / "recipe_state").mkdir()
    save_file(weights(), folder / "epoch_0" / "model-00001-of-00001.safetensors")
    torch.save(
        {"optimizer": optimizer(), "epochs_run": 1, "seed": 0}, folder / "recipe_state" / "recipe_state.pt"
    )


def _litgpt(folder: Path) -> None:
    torch.save({"model": weights(), "optimizer": optimizer(), "iter_num": 3}, folder / "lit_model.pth")
    (folder / "model_config.yaml").write_text("name: pythia")


def _nanochat(folder: Path) -> None:
    torch.save(weights(), folder / "model_000010.pt")
    torch.save(optimizer(), folder / "optim_000010_rank0.pt")
    (folder / "meta_000010.json").write_text(json.dumps({"step": 10}))


def _verl(folder: Path) -> None:
    torch.save(weights(), folder / "model_world_size_1_rank_0.pt")
    torch.save(optimizer(), folder / "optim_world_size_1_rank_0.pt")


def _speechbrain(folder: Path) -> None:
    torch.save(weights(), folder / "model.ckpt")
    torch.save(optimizer(), folder / "optimizer.ckpt")
    (folder / "counter.ckpt").write_text("1")
    (folder / "dataloader-TRAIN.ckpt").write_text("3")
    (folder / "CKPT.yaml").write_text("# yamllint disable\nend-of-epoch: false\nunixtime: 1.5\n")


def _resume_manager(folder: Path) -> None:
    own = {"torch_rng": torch.get_rng_state(), "sampler_epoch": 1, "sampler_seed": 5, "samples_done": 8}
    state = {"resume_manager": 1, "step": 4, "epoch": 1, "model": weights(), "optimizer": optimizer()}
    cache = {"key": "torch", "artifacts": torch.zeros(3, dtype=torch.uint8), "libraries": []}
    torch.save({**state, "compile_cache": cache, "rank_0": own}, folder / "state.pt")
    (folder / "manifest.json").write_text(json.dumps({"manifest": 1, "save": 1, "files": {}}))


def _skorch(folder: Path) -> None:
    torch.save(weights(), folder / "params.pt")
    torch.save(optimizer(), folder / "optimizer.pt")
    torch.save({}, folder / "criterion.pt")
    (folder / "history.json").write_text(json.dumps([{"epoch": 1, "batches": []}]))


def _torchsnapshot(folder: Path) -> None:
    manifest = {
        f"0/app/model/{name}": {"type": "Tensor", "dtype": "torch.float32", "shape": list(value.shape)}
        for name, value in weights().items()
    }
    counter = {"0/app/progress/step": {"type": "int", "serialized_value": "4", "readable": "4"}}
    metadata = {"version": "0.1.0", "world_size": 1, "manifest": {**manifest, **counter}}
    (folder / ".snapshot_metadata").write_text(json.dumps(metadata))


FOLDERS: dict[str, Callable[[Path], None]] = {
    "hf_trainer": _hf_trainer,
    "accelerate": _accelerate,
    "deepspeed": _deepspeed,
    "kohya": _kohya,
    "peft": _peft,
    "hf_weights": _hf_weights,
    "megatron": _megatron,
    "torchtune": _torchtune,
    "litgpt": _litgpt,
    "nanochat": _nanochat,
    "verl": _verl,
    "speechbrain": _speechbrain,
    "skorch": _skorch,
    "torchsnapshot": _torchsnapshot,
    "resume_manager": _resume_manager,
    "dcp": _distributed,
    "accelerate, stateful": _counting_accelerate,
}

FILES: dict[str, Callable[[], dict[str, Any]]] = {
    "lightning": lambda: {
        "epoch": 1,
        "global_step": 4,
        "pytorch-lightning_version": "2.6.6",
        "state_dict": weights(),
        "loops": {"fit_loop": {"epoch_loop.batch_progress": {"current": {"ready": 2}}, "state_dict": {}}},
        "optimizer_states": [optimizer()],
        "lr_schedulers": [],
    },
    "mmengine": lambda: {
        "meta": {"epoch": 1, "iter": 4, "seed": 0},
        "state_dict": weights(),
        "message_hub": {},
        "optimizer": optimizer(),
    },
    "composer": lambda: {
        "state": {
            "model": weights(),
            "optimizers": {"Adam": optimizer()},
            "timestamp": {"Timestamp": {"epoch": 1, "batch": 4}},
        },
        "rng": [{"torch": torch.get_rng_state()}],
    },
    "imagenet": lambda: {
        "epoch": 1,
        "arch": "resnet18",
        "state_dict": weights(),
        "best_acc1": 0.5,
        "optimizer": optimizer(),
    },
    "timm": lambda: {
        "epoch": 1,
        "arch": "vit",
        "state_dict": weights(),
        "optimizer": optimizer(),
        "version": 2,
        "args": None,
    },
    "ultralytics": lambda: {
        "epoch": 1,
        "model": None,
        "ema": torch.nn.Linear(2, 2).half(),
        "updates": 4,
        "optimizer": optimizer(),
        "train_args": {},
    },
    "yolov5": lambda: {
        "epoch": 1,
        "best_fitness": 0.1,
        "model": torch.nn.Linear(2, 2).half(),
        "ema": torch.nn.Linear(2, 2).half(),
        "updates": 4,
        "optimizer": optimizer(),
        "opt": {},
    },
    "torchvision": lambda: {
        "model": weights(),
        "optimizer": optimizer(),
        "lr_scheduler": scheduler(),
        "epoch": 1,
        "args": None,
    },
    "nanogpt": lambda: {
        "model": weights(),
        "optimizer": optimizer(),
        "model_args": {},
        "iter_num": 4,
        "best_val_loss": 1.0,
        "config": {},
    },
    "elastic_snapshot": lambda: {"MODEL_STATE": weights(), "EPOCHS_RUN": 1},
    "fastai": lambda: {
        "model": weights(),
        "opt": {"state": [{"grad_avg": torch.zeros(2), "sqr_avg": torch.zeros(2)}], "hypers": [{"lr": 0.1}]},
    },
    "ignite": lambda: {
        "model": weights(),
        "optimizer": optimizer(),
        "trainer": {"epoch_length": 2, "iteration": 4, "max_epochs": 3},
    },
    "detectron2": lambda: {
        "model": weights(),
        "iteration": 4,
        "trainer": {"iteration": 4, "_trainer": {"optimizer": optimizer()}},
    },
    "fairseq": lambda: {
        "model": weights(),
        "optimizer_history": [{"num_updates": 4, "lr_scheduler_state": {"best": None}}],
        "extra_state": {"train_iterator": {"epoch": 1, "iterations_in_epoch": 2}},
        "last_optimizer_state": optimizer(),
    },
    "espnet": lambda: {
        "model": weights(),
        "reporter": {"epoch": 1},
        "optimizers": [optimizer()],
        "schedulers": [None],
    },
    "vits": lambda: {"model": weights(), "iteration": 7, "optimizer": optimizer(), "learning_rate": 1e-4},
    "coqui": lambda: {
        "config": {},
        "model": weights(),
        "optimizer": optimizer(),
        "scaler": None,
        "step": 4,
        "epoch": 1,
        "date": "December 01, 2025",
    },
    "catalyst": lambda: {
        "model_state_dict": weights(),
        "criterion_state_dict": {},
        "optimizer_state_dict": optimizer(),
    },
    "fsdp": lambda: {"model": weights(), "optimizer": by_name(optimizer()), "step": 4},
}

PRESENT = {
    "hf_trainer": "model optimizer scheduler step epoch torch_rng",
    "accelerate": "model optimizer torch_rng",
    "deepspeed": "model optimizer step",
    "kohya": "model optimizer torch_rng step epoch",
    "peft": "model",
    "hf_weights": "model",
    "megatron": "model optimizer step",
    "torchtune": "model optimizer epoch",
    "litgpt": "model optimizer step",
    "nanochat": "model optimizer step",
    "verl": "model optimizer",
    "speechbrain": "model optimizer epoch dataloader_position",
    "lightning": "model optimizer step epoch",
    "mmengine": "model optimizer step epoch",
    "composer": "model optimizer step epoch torch_rng",
    "imagenet": "model optimizer epoch",
    "timm": "model optimizer epoch",
    "ultralytics": "model optimizer epoch ema",
    "yolov5": "model optimizer epoch ema",
    "torchvision": "model optimizer scheduler epoch",
    "nanogpt": "model optimizer step",
    "elastic_snapshot": "model epoch",
    "fastai": "model optimizer",
    "ignite": "model optimizer step",
    "detectron2": "model optimizer step",
    "fairseq": "model optimizer scheduler step epoch sampler_epoch dataloader_position",
    "espnet": "model optimizer epoch",
    "skorch": "model optimizer epoch",
    "torchsnapshot": "model step",
    "resume_manager": "model optimizer step epoch torch_rng sampler_epoch sampler_rng dataloader_position "
    "compile_cache",
    "vits": "model optimizer epoch",
    "coqui": "model optimizer step epoch",
    "catalyst": "model optimizer",
    "fsdp": "model optimizer step",
    "dcp": "model optimizer step",
}


def made(name: str, root: Path) -> CheckpointFacts:
    """The facts of one framework's checkpoint."""
    if name in FOLDERS:
        FOLDERS[name](root)
        return read_checkpoint(str(root))
    torch.save(FILES[name](), root / "file")
    return read_checkpoint(str(root / "file"))


@pytest.mark.parametrize("name", sorted(PRESENT))
def test_marks_and_states(tmp_path: Path, name: str) -> None:
    """The layout is recognised, and it finds every state that is there and no other."""
    facts = made(name, tmp_path)
    present = {kind.value for kind, p in facts.states.items() if p.status is PresenceStatus.PRESENT}
    assert facts.layout == name
    assert present == set(PRESENT[name].split())


POSITIONS = {
    "hf_trainer": "ignore_data_skip=False",
    "accelerate": "use_stateful_dataloader=True",
    "accelerate, stateful": "use_seedable_sampler=True",
    "lightning": "from train_dataloader()",
    "deepspeed": "beside the tag folder",
    "fsdp": "in a file of its own for each rank",
    "dcp": "a key of its own for each rank",
    "kohya": "--skip_until_initial_step",
    "mmengine": "iteration-based loops replay",
    "composer": "StreamingDataset",
    "nanogpt": "get_batch draws",
    "coqui": "the Trainer does not support it",
}
"""Words of the remedy for a missing position, or for one without the order that it counts in."""


@pytest.mark.parametrize("name", sorted(POSITIONS))
def test_position_is_told_in_the_words_of_the_framework(tmp_path: Path, name: str) -> None:
    """The remedy in STA112's finding is the framework's own switch, and no other's."""
    found, _ = judge(Case(checkpoints=(made(name, tmp_path),)))
    told = next(finding.remedy for finding in found if finding.code == "STA112")
    assert [key for key, words in POSITIONS.items() if words in told] == [name]


def test_sharded_files_of_ranks(tmp_path: Path, one_rank: None) -> None:
    """Files of sharded tensors are known by them, whether torch.save or DCP wrote them."""
    mesh = init_device_mesh("cpu", (1,))
    sharded = {name: distribute_tensor(value, mesh, [Shard(0)]) for name, value in weights().items()}
    state = {"model": sharded, "optimizer": optimizer(), "step": 4}
    (tmp_path / "fsdp").mkdir()
    for rank in range(2):
        torch.save(state, tmp_path / "fsdp" / f"rank{rank}.pt")
    dcp.save(state, checkpoint_id=tmp_path / "dcp")
    for layout in ("fsdp", "dcp"):
        facts = read_checkpoint(str(tmp_path / layout))
        assert facts.layout == layout
        assert POSITIONS[layout] in (facts.states[POSITION].remedy or "")
        assert facts.states[StateKind.MODEL].status is PresenceStatus.PRESENT


def test_stateful_loader_of_accelerate(tmp_path: Path) -> None:
    """With the stateful loader the position and the order are there."""
    _stateful_accelerate(tmp_path)
    states = read_checkpoint(str(tmp_path)).states
    assert states[POSITION].status is PresenceStatus.PRESENT
    assert states[StateKind.SAMPLER_RNG].where == (
        "dl_state_dict.bin: _sampler_iter_state.sampler_iter_state.generator"
    )


def test_the_trainer_derives_its_position(tmp_path: Path) -> None:
    """An absent state that the framework computes is said to be derived."""
    assert made("hf_trainer", tmp_path).states[POSITION].detail is PresenceDetail.DERIVED


def test_the_step_in_the_name_of_a_folder(tmp_path: Path) -> None:
    """Scripts on top of Accelerate that keep the step in the folder's name are known by that name."""
    folder = tmp_path / "checkpoint-500"
    folder.mkdir()
    _accelerate(folder)
    assert read_checkpoint(str(folder)).states[StateKind.STEP].detail is PresenceDetail.DERIVED


def test_a_trainer_folder_of_fsdp(tmp_path: Path) -> None:
    """Model and optimizer in DCP folders below the Trainer's are found there."""
    (tmp_path / "trainer_state.json").write_text(json.dumps({"global_step": 4, "epoch": 0.5}))
    torch.save(scheduler(), tmp_path / "scheduler.pt")
    dcp.save({"model": weights()}, checkpoint_id=tmp_path / "pytorch_model_fsdp_0", no_dist=True)
    dcp.save({"optimizer": optimizer()}, checkpoint_id=tmp_path / "optimizer_0", no_dist=True)
    facts = read_checkpoint(str(tmp_path))
    assert facts.layout == "hf_trainer"
    assert facts.states[StateKind.MODEL].where == "pytorch_model_fsdp_0/.metadata: model"
    assert facts.states[StateKind.OPTIMIZER].where == "optimizer_0/.metadata: optimizer"
    assert facts.optimizers[0].bloat_ratio == pytest.approx(1.0)


def test_a_trainer_folder_of_deepspeed(tmp_path: Path) -> None:
    """ZeRO's files below the Trainer's are found, and the remedies are the Trainer's."""
    _deepspeed(tmp_path)
    (tmp_path / "trainer_state.json").write_text(json.dumps({"global_step": 4, "epoch": 0.5}))
    facts = read_checkpoint(str(tmp_path))
    assert facts.layout == "hf_trainer"
    assert facts.states[StateKind.OPTIMIZER].status is PresenceStatus.PRESENT
    assert facts.states[POSITION].detail is PresenceDetail.DERIVED


def test_megatron_without_common_state(tmp_path: Path) -> None:
    """The distributed optimizer's slots stand before the parameters' names, with a master copy among them."""
    slots = ("exp_avg", "exp_avg_sq", "fp32_param")
    state = {"decoder.w": torch.zeros(2, 2)}
    state |= {f"chained_0.optimizer.state.{slot}.decoder.w": torch.zeros(2, 2) for slot in slots}
    dcp.save(state, checkpoint_id=tmp_path, no_dist=True)
    (tmp_path / "metadata.json").write_text(json.dumps({"sharded_backend": "torch_dist"}))
    facts = read_checkpoint(str(tmp_path))
    assert facts.layout == "megatron"
    assert facts.states[StateKind.MODEL].status is PresenceStatus.PRESENT
    assert facts.states[StateKind.OPTIMIZER].where == ".metadata: chained_0.optimizer"
    assert facts.states[POSITION].detail is PresenceDetail.DERIVED
    assert [optimizer.bloat_ratio for optimizer in facts.optimizers] == [pytest.approx(1.0)]


def test_megatron_in_zarr(tmp_path: Path) -> None:
    """Of arrays in a format that is not read nothing is claimed."""
    torch.save({"iteration": 10}, tmp_path / "common.pt")
    (tmp_path / "metadata.json").write_text(json.dumps({"sharded_backend": "zarr"}))
    states = read_checkpoint(str(tmp_path)).states
    assert states[StateKind.STEP].status is PresenceStatus.PRESENT
    assert states[StateKind.OPTIMIZER].status is PresenceStatus.UNKNOWN


def test_diffusers(tmp_path: Path) -> None:
    """The folder of the average lies beside that of the live weights."""
    folder = tmp_path / "checkpoint-500"
    for name in ("unet", "unet_ema"):
        (folder / name).mkdir(parents=True)
        save_file(weights(), folder / name / "diffusion_pytorch_model.safetensors")
    torch.save({"step": 0, "torch_manual_seed": torch.get_rng_state()}, folder / "random_states_0.pkl")
    states = read_checkpoint(str(tmp_path)).states
    assert states[StateKind.EMA].where == "unet_ema/diffusion_pytorch_model.safetensors"
    assert states[StateKind.MODEL].status is PresenceStatus.PRESENT


def test_universal_checkpoint_of_deepspeed(tmp_path: Path) -> None:
    """A folder for each parameter is told by its names, however many there are."""
    tag = tmp_path / "global_step4_universal"
    for number in range(200):
        (tag / "zero" / f"layers.{number}.weight").mkdir(parents=True)
        for slot in ("fp32", "exp_avg", "exp_avg_sq"):
            (tag / "zero" / f"layers.{number}.weight" / f"{slot}.pt").touch()
    torch.save(
        {"module": weights(), "optimizer": None, "global_steps": 4}, tag / "mp_rank_00_model_states.pt"
    )
    (tmp_path / "latest_universal").write_text(tag.name)
    facts = read_checkpoint(str(tmp_path))
    present = {kind.value for kind, p in facts.states.items() if p.status is PresenceStatus.PRESENT}
    assert facts.layout == "deepspeed"
    assert present == {"model", "optimizer", "step"}
    assert not facts.missing_parts


def test_one_checkpoint_in_a_folder(tmp_path: Path) -> None:
    """A framework's file is known as well where its folder was named, with other things beside it."""
    torch.save(FILES["nanogpt"](), tmp_path / "ckpt.pt")
    (tmp_path / "notes.txt").write_text("hello")
    assert read_checkpoint(str(tmp_path)).layout == "nanogpt"


def test_torchtitan(tmp_path: Path) -> None:
    """Weights at the top level of a DCP folder, beside flat names of an optimizer."""
    adam = optimizer()
    flat = {f"state.0.weight.{key}": value for key, value in adam["state"][0].items()}
    state = {**weights(), "optimizer": flat, "train_state": {"step": torch.tensor(4)}}
    dcp.save(state, checkpoint_id=tmp_path, no_dist=True)
    facts = read_checkpoint(str(tmp_path))
    present = {kind.value for kind, p in facts.states.items() if p.status is PresenceStatus.PRESENT}
    assert facts.layout == "torchtitan"
    assert present == {"model", "optimizer", "step"}


def test_nemo(tmp_path: Path) -> None:
    """Weights and optimizer in a DCP folder beside the context; generators are never saved."""
    state = {
        "state_dict": weights(),
        "optimizer": optimizer(),
        "global_step": torch.tensor(4),
        "consumed_samples": torch.tensor(64),
    }
    dcp.save(state, checkpoint_id=tmp_path / "weights", no_dist=True)
    (tmp_path / "context").mkdir()
    (tmp_path / "context" / "io.json").write_text("{}")
    (tmp_path / "context" / "model.yaml").write_text("seed: 1\n")
    facts = read_checkpoint(str(tmp_path))
    assert facts.layout == "nemo"
    for kind in (StateKind.MODEL, StateKind.OPTIMIZER, StateKind.STEP):
        assert facts.states[kind].status is PresenceStatus.PRESENT, kind
    generator = facts.states[StateKind.TORCH_RNG]
    assert generator.detail is PresenceDetail.NEVER_BY_FRAMEWORK
    assert generator.remedy == "a callback of your own with state_dict"


def test_every_layout_has_a_case() -> None:
    """No layout goes untested here, but for those that other tests cover."""
    elsewhere = {"generic", "torchtitan", "nemo", "sb3"}
    assert {layout.NAME for layout in catalogue()} == set(PRESENT) | elsewhere
