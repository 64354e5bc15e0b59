"""Resize: by F.interpolate where it computes the same, else by a table of indices or a matrix for each axis."""
import math

import numpy

from modc._onnx.text import Size, binary, call, method, number, subscript

ROUNDINGS = {
    "round_prefer_floor": lambda at: numpy.ceil(at - 0.5), "round_prefer_ceil": lambda at: numpy.floor(at + 0.5),
    "floor": numpy.floor, "ceil": numpy.ceil,
}
INTERPOLATED = {1: "linear", 2: "bilinear", 3: "trilinear"}


class Resize:
    def __init__(self, node, mode, transform, rounding, axes, scales, sizes, roi, extents):
        self.node, self.mode, self.transform, self.rounding = node, mode, transform, rounding
        self.axes, self.extents, self.roi = axes, extents, roi
        self.antialias = node.attribute("antialias", 0)
        self.coefficient = float(node.number("cubic_coeff_a", -0.75))
        self.outside = node.attribute("exclude_outside", 0)
        self.scales, self.sizes = scales, sizes
        if transform not in ("half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric", "half_pixel_symmetric",
                             "tf_crop_and_resize", "tf_half_pixel_for_nn"):
            raise node.fail(f"coordinate_transformation_mode '{transform}' is not there")

    def expression(self):
        node = self.node
        pairs = self.pairs()
        moved = [axis for axis, (scale, out) in pairs.items() if self.transform == "tf_crop_and_resize"
                 or isinstance(out, Size) or isinstance(self.extents[axis], Size) and scale != 1 or out != self.extents[axis]]
        if not moved:
            return node[0]
        made = self.interpolate(pairs, moved)
        if made is not None:
            return made
        made = node[0]
        for axis in moved:
            extent = node.fixed(axis, f"Resize with mode '{self.mode}' and '{self.transform}'")
            scale, out = pairs[axis]
            if isinstance(out, Size):
                raise node.fail("its sizes depend on sizes that calls choose")
            made = self.along(made, axis, extent, out, scale)
        return made

    def pairs(self):
        """By axis: scale and extent."""
        if self.scales is not None:
            return {axis: (scale, self.grown(self.extents[axis], scale)) for axis, scale in zip(self.axes, self.scales)}
        if self.sizes is None:
            raise self.node.fail("neither scales nor sizes are constants")
        policy = self.node.attribute("keep_aspect_ratio_policy", "stretch")
        pairs = {}
        if policy != "stretch":
            choose = min if policy == "not_larger" else max
            scale = choose(size / self.node.fixed(axis, policy) for axis, size in zip(self.axes, self.sizes))
            return {axis: (scale, int(math.floor(scale * self.extents[axis] + 0.5))) for axis in self.axes}
        for axis, size in zip(self.axes, self.sizes):
            extent = self.extents[axis]
            known = isinstance(size, int) and isinstance(extent, int)
            pairs[axis] = (size / extent if known else 1.0 if size == extent else None, size)
        return pairs

    @staticmethod
    def grown(extent, scale):
        if isinstance(extent, int):
            return int(math.floor(extent * numpy.float32(scale)))
        return extent * int(scale) if float(scale).is_integer() else Size("floor", extent, scale)

    def interpolate(self, pairs, moved):
        """F.interpolate, or None."""
        rank, count = len(self.extents), len(self.extents) - 2
        if min(moved) < 2 or not 1 <= count <= 3 or self.antialias or self.transform == "tf_crop_and_resize":
            return None
        spatial = [pairs.get(axis, (1.0, self.extents[axis])) for axis in range(2, rank)]
        mode, align = None, None
        if self.mode == "nearest" and self.transform == "asymmetric" and self.rounding == "floor":
            mode = "nearest"
        elif self.mode == "linear" and self.transform in ("half_pixel", "pytorch_half_pixel", "align_corners"):
            if self.transform == "pytorch_half_pixel" and any(out == 1 for _, out in spatial):
                return None
            mode, align = INTERPOLATED[count], str(self.transform == "align_corners")
        elif self.mode == "cubic" and count == 2 and self.transform in ("half_pixel", "align_corners") \
                and self.coefficient == -0.75 and not self.outside:
            mode, align = "bicubic", str(self.transform == "align_corners")
        if mode is None:
            return None
        scales = [scale for scale, _ in spatial]
        if all(scale is not None and float(scale).is_integer() for scale in scales) and self.scales is not None:
            factor = int(scales[0]) if len(set(scales)) == 1 else "(" + ", ".join(str(int(scale)) for scale in scales) + ")"
            return call("F.interpolate", self.node[0], scale_factor=factor, mode=repr(mode), align_corners=align)
        outs = [out for _, out in spatial]
        if self.scales is not None and (any(isinstance(out, Size) for out in outs) or any(
                abs(out / extent - scale) > 1e-6 for (scale, out), extent in zip(spatial, self.extents[2:]))):
            return None  # whose coordinates come from the scale, not from the extents
        return call("F.interpolate", self.node[0], size=outs, mode=repr(mode), align_corners=align)

    def along(self, value, axis, extent, out, scale):
        """One axis by itself: where each result lies among the elements, and what it takes of them."""
        at, inside = self.coordinates(axis, extent, out, scale)
        if self.mode == "nearest":
            index = numpy.clip(ROUNDINGS[self.rounding](at), 0, extent - 1).astype(int)
            made = subscript(value, *[":"] * axis, number(index.tolist()))
            weight = None
        else:
            weight = self.weights(at, extent, scale)
            rank = len(self.extents)
            matrix = self.node.graph.constant(weight.T.astype(self.node[0].dtype or "float32"))
            turned = value if axis == rank - 1 else method(value, "transpose", axis, rank - 1)
            made = binary(turned, "@", matrix)
            made = made if axis == rank - 1 else method(made, "transpose", axis, rank - 1)
        if inside.all():
            return made
        shaped = inside.reshape([-1] + [1] * (len(self.extents) - axis - 1))
        return call("torch.where", self.node.graph.constant(shaped), made, self.node.number("extrapolation_value", 0.0))

    def coordinates(self, axis, extent, out, scale):
        at = numpy.arange(out, dtype=numpy.float64)
        inside = numpy.ones(out, dtype=bool)
        length = extent * scale
        if self.transform == "align_corners":
            made = at * (extent - 1) / (length - 1) if length != 1 else at * 0
        elif self.transform == "asymmetric":
            made = at / scale
        elif self.transform == "tf_half_pixel_for_nn":
            made = (at + 0.5) / scale
        elif self.transform == "pytorch_half_pixel" and out == 1:
            made = at * 0 - 0.5
        elif self.transform == "half_pixel_symmetric":
            adjustment = out / length
            made = extent / 2 * (1 - adjustment) + (at + 0.5) / scale - 0.5
        elif self.transform == "tf_crop_and_resize":
            roi = self.node.constant(1, "roi")
            which, half = self.axes.index(axis), len(roi) // 2
            start, end = float(roi[which]), float(roi[half + which])
            made = (at * (end - start) * (extent - 1) / (out - 1) + start * (extent - 1)) if out > 1 \
                else at * 0 + 0.5 * (start + end) * (extent - 1)
            inside = (made >= 0) & (made <= extent - 1)
        else:
            made = (at + 0.5) / scale - 0.5
        return made, inside

    def weights(self, at, extent, scale):
        """The matrix of linear or cubic interpolation."""
        reach, stretch = (1, 1.0) if self.mode == "linear" else (2, 1.0)
        if self.antialias and scale < 1:
            stretch = scale
        span = int(math.ceil(reach / stretch))
        matrix = numpy.zeros((len(at), extent))
        a = self.coefficient
        for row, place in enumerate(at):
            first = int(math.floor(place)) - span + 1
            taps = numpy.arange(first, first + 2 * span)
            away = numpy.abs((place - taps) * stretch)
            if self.mode == "linear":
                weight = numpy.maximum(0, 1 - away)
            else:
                near = (a + 2) * away ** 3 - (a + 3) * away ** 2 + 1
                far = a * away ** 3 - 5 * a * away ** 2 + 8 * a * away - 4 * a
                weight = numpy.where(away <= 1, near, numpy.where(away < 2, far, 0))
            if self.outside:
                weight = numpy.where((taps >= 0) & (taps < extent), weight, 0)
            if self.outside or self.antialias:
                weight = weight / weight.sum()
            for tap, share in zip(taps, weight):
                matrix[row, min(max(tap, 0), extent - 1)] += share
        return matrix
