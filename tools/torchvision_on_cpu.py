"""Lets PyPI's torchvision, which is linked to CUDA, import beside a CPU build of torch: only for tests without a GPU.

torchvision registers the shapes of its operators as it is imported, and fails over `nms` where its compiled library
could not be loaded. Two operators declared before that are all it needs. Installed by tools/vllm_cpu_env.sh through a
.pth file, since the engine's own processes must find it too.
"""

import importlib.abc
import sys

_library = None


def _nms(boxes, scores, threshold):
    """Greedy non-maximum suppression: indices of the boxes that stay, the best first."""
    import torch

    areas = (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])
    order, kept = scores.argsort(descending=True), []
    while order.numel():
        best, rest = order[0], order[1:]
        kept.append(best)
        corner = torch.maximum(boxes[best, :2], boxes[rest, :2])
        sides = (torch.minimum(boxes[best, 2:], boxes[rest, 2:]) - corner).clamp(min=0)
        shared = sides[:, 0] * sides[:, 1]
        order = rest[shared / (areas[best] + areas[rest] - shared) <= threshold]
    return torch.stack(kept) if kept else torch.empty(0, dtype=torch.int64)


class _Finder(importlib.abc.MetaPathFinder):
    """Finds nothing; declares the operators when torchvision is asked for."""

    def find_spec(self, name, path=None, target=None):
        global _library
        if name == "torchvision" and _library is None:
            import torch

            _library = torch.library.Library("torchvision", "FRAGMENT")
            if torch.version.cuda is None:
                _library.define("nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
                _library.define("qnms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
                _library.impl("nms", _nms, "CPU")
        return None


sys.meta_path.insert(0, _Finder())
