"""What torchvision.ops computes, region by region and box by box from its definitions: the peer of modc's rows of that name where
torchvision is not installed, with gradients. nms has modc's form, which says how many boxes it gives at most.

    python3 tests/oracle/vision.py    # against torchvision, if that is installed: skipped (77), else 0 or 1
"""
import math
import sys
import types

import torch


def box_area(boxes):
    return (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])


def parts_of(boxes1, boxes2):
    low = torch.maximum(boxes1[:, None, :2], boxes2[:, :2])
    high = torch.minimum(boxes1[:, None, 2:], boxes2[:, 2:])
    inter = (high - low).clamp(min=0).prod(2)
    return inter, box_area(boxes1)[:, None] + box_area(boxes2) - inter


def box_iou(boxes1, boxes2):
    inter, union = parts_of(boxes1, boxes2)
    return inter / union


def generalized_box_iou(boxes1, boxes2):
    inter, union = parts_of(boxes1, boxes2)
    low = torch.minimum(boxes1[:, None, :2], boxes2[:, :2])
    area = (torch.maximum(boxes1[:, None, 2:], boxes2[:, 2:]) - low).clamp(min=0).prod(2)
    return inter / union - (area - union) / area


def box_convert(boxes, in_fmt, out_fmt):
    a, b, c, d = boxes.unbind(-1)
    ends = {"xyxy": (a, b, c, d), "xywh": (a, b, a + c, b + d),
            "cxcywh": (a - 0.5 * c, b - 0.5 * d, a + 0.5 * c, b + 0.5 * d)}
    a, b, c, d = ends[in_fmt]
    forms = {"xyxy": (a, b, c, d), "xywh": (a, b, c - a, d - b), "cxcywh": ((a + c) / 2, (b + d) / 2, c - a, d - b)}
    return boxes if in_fmt == out_fmt else torch.stack(forms[out_fmt], -1)


def clip_boxes_to_image(boxes, size):
    x, y = boxes[..., 0::2].clamp(0, size[1]), boxes[..., 1::2].clamp(0, size[0])
    return torch.stack((x, y), -1).reshape(boxes.shape)


def nms(boxes, scores, iou_threshold, max_output):
    kept, overlap = [], box_iou(boxes, boxes)
    for i in scores.argsort(descending=True, stable=True).tolist():
        if len(kept) < max_output and not any(overlap[j, i] > iou_threshold for j in kept):
            kept.append(i)
    return torch.tensor(kept + [-1] * (max_output - len(kept))), torch.tensor(len(kept))


def batched_nms(boxes, scores, idxs, iou_threshold, max_output):
    return nms(boxes + (idxs.to(boxes) * (boxes.max() + 1))[:, None], scores, iou_threshold, max_output)


def rois_of(boxes):
    if torch.is_tensor(boxes):
        return boxes.detach()
    return torch.cat([torch.cat((torch.full_like(own[:, :1], i), own), 1) for i, own in enumerate(boxes)]).detach()


def pair(size):
    return (size, size) if isinstance(size, int) else size


def taps(at, length):
    """[(element, weight)] of a point."""
    if at < -1 or at > length:
        return []
    at = max(at, 0.0)
    low = min(int(at), length - 1)
    if low == length - 1:
        return [(low, 1.0)]
    return [(low, 1 - (at - low)), (low + 1, at - low)]


def roi_align(input, boxes, output_size, spatial_scale=1.0, sampling_ratio=-1, aligned=False):
    size, result = pair(output_size), []
    for roi in rois_of(boxes):
        left, top, right, bottom = (roi[1:] * spatial_scale - (0.5 if aligned else 0.0)).tolist()
        image, matrices = input[int(roi[0])], []
        for start, end, count, length in ((top, bottom, size[0], image.shape[1]), (left, right, size[1], image.shape[2])):
            step = (end - start if aligned else max(end - start, 1.0)) / count
            points = sampling_ratio if sampling_ratio > 0 else math.ceil(step)
            matrix = torch.zeros(count, length, dtype=input.dtype)
            for bin_ in range(count):
                for point in range(points):
                    for element, weight in taps(start + bin_ * step + (point + 0.5) * step / points, length):
                        matrix[bin_, element] += weight / points
            matrices.append(matrix)
        result.append(matrices[0] @ image @ matrices[1].mT)
    return torch.stack(result)


def bins(start, end, count, length):
    step = max(end - start + 1, 1) / count
    return [(min(max(math.floor(i * step) + start, 0), length), min(max(math.ceil((i + 1) * step) + start, 0), length))
            for i in range(count)]


def roi_pool(input, boxes, output_size, spatial_scale=1.0):
    size, result = pair(output_size), []
    for roi in rois_of(boxes):
        left, top, right, bottom = (int(math.copysign(math.floor(abs(x) + 0.5), x)) for x in (roi[1:] * spatial_scale).tolist())
        image = input[int(roi[0])]
        for first, last in bins(top, bottom, size[0], image.shape[1]):
            for begin, end in bins(left, right, size[1], image.shape[2]):
                part = image[:, first:last, begin:end].flatten(1)
                result.append(part.max(1).values if part.shape[1] else image[:, 0, 0] * 0)
    return torch.stack(result).reshape((-1, *size, input.shape[1])).permute(0, 3, 1, 2)


NAMES = ["box_area", "box_iou", "generalized_box_iou", "box_convert", "clip_boxes_to_image", "nms", "batched_nms", "roi_align",
         "roi_pool"]
ops = types.SimpleNamespace(**{name: globals()[name] for name in NAMES})
torchvision = types.SimpleNamespace(ops=ops)


def calls(generator):
    """[(name, arguments)]"""
    def boxes(count):
        start = torch.rand(count, 2, generator=generator) * 12 - 2
        return torch.cat((start, start + torch.rand(count, 2, generator=generator) * 7), 1)

    image, scores = torch.randn(2, 3, 7, 9, generator=generator), torch.randn(12, generator=generator)
    several, labels = boxes(12), torch.randint(0, 3, (12,), generator=generator)
    rois = torch.cat((torch.randint(0, 2, (12, 1), generator=generator).float(), several), 1)
    yield "box_area", (several,)
    yield "box_iou", (several, boxes(5))
    yield "generalized_box_iou", (several, boxes(5))
    yield "clip_boxes_to_image", (several, (6, 7))
    for a in ("xyxy", "xywh", "cxcywh"):
        for b in ("xyxy", "xywh", "cxcywh"):
            yield "box_convert", (several, a, b)
    for threshold in (0.05, 0.3):
        yield "nms", (several, scores, threshold)
        yield "batched_nms", (several.clamp(min=0), scores, labels, threshold)
    for scale in (1.0, 0.5):
        yield "roi_pool", (image, rois, (3, 2), scale)
        yield "roi_pool", (image, [several[:5], several[5:]], 2, scale)
        for aligned in (False, True):
            yield "roi_align", (image, rois, (2, 3), scale, 2, aligned)


def main():
    try:
        from torchvision import ops as other
    except ImportError:
        print("skipped: torchvision is not installed")
        return 77
    generator, faults, count = torch.Generator().manual_seed(9), 0, 0
    for _ in range(20):
        for name, given in calls(generator):
            if "nms" in name:
                theirs = getattr(other, name)(*given)
                kept, number = globals()[name](*given, 20)
                gap = 0 if kept[:number].tolist() == theirs.tolist() and (kept[number:] == -1).all() else 1
            else:
                gap = (globals()[name](*given) - getattr(other, name)(*given)).abs().max().item()
            count += 1
            if not gap < 2e-5:
                print(f"{name}: differs from torchvision by {gap:.3g}")
                faults += 1
    print(f"{count} calls, {faults} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
