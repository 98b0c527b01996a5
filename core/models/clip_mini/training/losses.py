"""The three losses of clip-mini: pictures, the quadrants of mosaics, and imagined photographs."""

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor

from core.layers import contrastive_loss
from core.models.clip_mini.conse import settled
from core.models.clip_mini.head import Head, Pooled
from core.models.clip_mini.training.lessons import GRID, QUADRANT, Lesson, Lessons

QUADRANTS = 4


def picture_loss(
    head: Head, lessons: Lessons, lesson: Lesson, scale: Float[Tensor, ""]
) -> Float[Tensor, ""]:
    """Pictures and captions of a batch find each other, and each picture its name among all.

    The vector of a picture is what it is later: with ConSE's share, so the head learns what ConSE
    leaves to say.
    """
    pooled = _pooled(head, lesson)
    vectors = F.normalize(_shared(head, lessons, pooled), dim=-1)
    among_all = F.cross_entropy(scale * vectors @ lessons.names.T, lesson.concepts)
    return contrastive_loss(scale * vectors @ lesson.texts.T, lesson.concepts) + among_all


def mosaic_loss(
    head: Head, lessons: Lessons, lesson: Lesson, scale: Float[Tensor, ""]
) -> Float[Tensor, ""]:
    """Each quadrant's mean place and the caption of its picture find each other.

    Places are read as a heat map reads them: each alone, by the pool's value. Once among all
    quadrants of the batch, and each caption once more among the four of its own mosaic.
    """
    tokens = head.tokens(lesson.features, GRID, lesson.places)
    alone = Pooled(head.pool.attention.value(tokens), settled(lesson.features))
    means, there = quadrant_means(_shared(head, lessons, alone), lesson.places)
    vectors, texts = F.normalize(means, dim=-1), lesson.texts.unflatten(0, (-1, QUADRANTS))
    inside = scale * torch.einsum("btd,bqd->btq", texts, vectors)  # text, quadrant
    inside = inside.masked_fill(~there[:, None], -torch.inf)
    named = torch.arange(QUADRANTS).expand(len(inside), -1)
    found = F.cross_entropy(inside[there], named[there])
    vectors, there = vectors.flatten(0, 1), there.flatten()
    logits = scale * vectors[there] @ lesson.texts[there].T
    return contrastive_loss(logits, lesson.concepts[there]) + found


def imagined_loss(
    head: Head, lessons: Lessons, lesson: Lesson, scale: Float[Tensor, ""]
) -> Float[Tensor, ""]:
    """Each imagined photograph finds the name of its class among all classes, without ConSE."""
    vectors = head.projected(_pooled(head, lesson).tokens).float()
    return F.cross_entropy(scale * vectors @ lessons.conse.names.T, lesson.concepts)


def quadrant_means(
    own: Float[Tensor, "batch position dim"], places: Int[Tensor, "batch position"]
) -> tuple[Float[Tensor, "batch quadrant dim"], Bool[Tensor, "batch quadrant"]]:
    """The mean over each quadrant's places, and whether any of them was read."""
    inside = F.one_hot(QUADRANT[places] + 1, QUADRANTS + 1)[..., 1:].to(own.dtype)
    count = inside.sum(dim=1)
    means = torch.einsum("bpq,bpd->bqd", inside, own) / count.clamp(min=1)[..., None]
    return means, count > 0


def _pooled(head: Head, lesson: Lesson) -> Pooled:
    tokens = head.tokens(lesson.features, GRID, lesson.places)
    return head.pool(tokens, settled(lesson.features))


def _shared(head: Head, lessons: Lessons, pooled: Pooled) -> Float[Tensor, "*batch dim"]:
    """What the head sees and what ConSE says, in their shares."""
    # float32: scaled logits in half precision are off by tenths.
    seen, logits = head.projected(pooled.tokens).float(), lessons.lite0.classifier(pooled.features)
    return (1 - lessons.share) * seen + lessons.share * lessons.conse(logits.float())
