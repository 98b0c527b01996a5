"""Training clip-mini's head on kept features: pictures and captions find each other.

Sources: Radford et al. 2021, section 2.3, https://arxiv.org/abs/2103.00020; lite0 and minilm stay
as they are, after Zhai et al. 2022 (LiT), https://arxiv.org/abs/2111.07991; places are left out in
training after Li et al. 2023 (FLIP), https://arxiv.org/abs/2212.00794
"""

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from core.models.clip_mini.head import Head
from core.models.clip_mini.training.lessons import Lessons
from core.models.clip_mini.training.losses import imagined_loss, mosaic_loss, picture_loss

FIRST_SCALE, MOST_SCALE = 14.0, 50.0
BETAS = (0.9, 0.98)


@dataclass(frozen=True)
class Plan:
    """How to train."""

    seed: int = 0
    epochs: int = 20
    batch: int = 256  # pictures in each step
    mosaics: int = 48  # in each step
    mosaic_weight: float = 0.5  # of their loss, beside 1 of pictures
    imagined: int = 128  # in each step
    imagined_weight: float = 0.5
    rate: float = 1e-3  # at its highest
    warmup: float = 0.07  # share of all steps until then
    decay: float = 0.1  # of matrices; norms, biases, positions and the query are left alone
    bfloat16: bool = True  # four times as fast on a CPU that has it


class Student(nn.Module):
    """The head and the scale, which are trained together."""

    def __init__(self, head: Head) -> None:
        """Start at CLIP's own scale."""
        super().__init__()
        self.head = head
        self.logit_scale = nn.Parameter(torch.tensor(math.log(FIRST_SCALE)))

    def scale(self) -> Float[Tensor, ""]:
        """What cosines are multiplied by; held at its limit."""
        # The parameter itself is held: a clamp in the graph would give it no way back down.
        with torch.no_grad():
            self.logit_scale.clamp_(max=math.log(MOST_SCALE))
        return self.logit_scale.exp()


def train(
    student: Student,
    lessons: Lessons,
    plan: Plan,
    checkpoint: Path,
    on_epoch: Callable[[int, float], None],
) -> None:
    """Train in place, going on where an earlier run of the same plan was stopped.

    Args:
        student: what is trained.
        lessons: what it is trained on.
        plan: how.
        kept: file for the state after each whole epoch.
        on_epoch: told the number of epochs that are done, and the mean loss of the last.
    """
    optimizer = _optimizer(student, plan)
    steps = math.ceil(len(lessons.pictures) / plan.batch)
    for epoch in range(_resumed(student, optimizer, plan, checkpoint), plan.epochs):
        # A generator for each epoch: a run that was stopped goes on as if it had not been.
        chance = torch.Generator().manual_seed(1_000_003 * plan.seed + epoch)
        order = torch.randperm(len(lessons.pictures), generator=chance).tolist()
        total = 0.0
        for step in range(steps):
            rate = plan.rate * share_of_rate((epoch * steps + step) / (plan.epochs * steps), plan)
            batch = [lessons.pictures[index] for index in order[step::steps]]
            total += _step(student, optimizer, rate, _loss(student, lessons, plan, batch, chance))
        _keep(student, optimizer, plan, epoch + 1, checkpoint)
        on_epoch(epoch + 1, total / steps)


def share_of_rate(done: float, plan: Plan) -> float:
    """Up in a line, then down in half a cosine; `done` is the share of all steps."""
    if done < plan.warmup:
        return (done + 1e-3) / plan.warmup
    return 0.5 + 0.5 * math.cos(math.pi * (done - plan.warmup) / (1 - plan.warmup))


def _loss(
    student: Student,
    lessons: Lessons,
    plan: Plan,
    batch: list[int],
    chance: torch.Generator,
) -> Float[Tensor, ""]:
    scale = student.scale()
    # autocast's cache of weights would outlive the step that changes them.
    with torch.autocast("cpu", torch.bfloat16, enabled=plan.bfloat16, cache_enabled=False):
        lesson = lessons.of_pictures(batch, chance)
        loss = picture_loss(student.head, lessons, lesson, scale)
        if plan.mosaics:
            lesson = lessons.of_mosaics(plan.mosaics, chance)
            loss = loss + plan.mosaic_weight * mosaic_loss(student.head, lessons, lesson, scale)
        if plan.imagined:
            lesson = lessons.of_imagination(plan.imagined, chance)
            loss = loss + plan.imagined_weight * imagined_loss(student.head, lessons, lesson, scale)
    return loss


def _step(
    student: Student, optimizer: torch.optim.Optimizer, rate: float, loss: Float[Tensor, ""]
) -> float:
    for group in optimizer.param_groups:
        group["lr"] = rate
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(student.parameters(), 1.0)
    optimizer.step()
    return loss.item()


def _optimizer(student: Student, plan: Plan) -> torch.optim.AdamW:
    matrices, others = [], []
    for name, parameter in student.named_parameters():
        plain = parameter.ndim < 2 or name.endswith("positions.table")
        (others if plain else matrices).append(parameter)
    groups = [
        {"params": matrices, "weight_decay": plan.decay},
        {"params": others, "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(groups, lr=plan.rate, betas=BETAS)


def _resumed(
    student: Student, optimizer: torch.optim.Optimizer, plan: Plan, checkpoint: Path
) -> int:
    """Load the state of an earlier run of this plan; the number of epochs that are done."""
    if not checkpoint.is_file():
        return 0
    state: dict[str, Any] = torch.load(checkpoint, weights_only=True)
    if state["plan"] != asdict(plan):
        return 0
    student.load_state_dict(state["student"])
    optimizer.load_state_dict(state["optimizer"])
    return state["epochs"]


def _keep(
    student: Student, optimizer: torch.optim.Optimizer, plan: Plan, epochs: int, checkpoint: Path
) -> None:
    """Write the state; the file changes whole or not at all."""
    partial = checkpoint.with_suffix(".partial")
    state = {
        "plan": asdict(plan),
        "epochs": epochs,
        "student": student.state_dict(),
        "optimizer": optimizer.state_dict(),
    }
    torch.save(state, partial)
    partial.replace(checkpoint)
