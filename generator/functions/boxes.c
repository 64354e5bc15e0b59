/* boxes.c - boxes and regions of images, as torchvision.ops has them. Boxes are (x1, y1, x2, y2).
 *
 * note [fixed results]
 * How many boxes nms leaves depends on their values, and shapes do not: a call says the most that it wants, and gets so many
 * numbers, -1 behind the last box that stays, and their count. */
#include <string.h>

#include "functions/rows.h"
#include "graph/graph.h"

enum { MOST_POINTS = 1 << 12 }; /* along a part of a box */

/* _check_boxes(boxes, name): (n, 4), floating. */
static struct ev fn_check_boxes(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    const struct value *x = args[0].tensor;
    (void)count;

    if (!need_tensor(eval, "this", &args[0]))
        return BAD;
    if (x->ndim == 2 && dim_equals(x->dims[1], 4) && dtype_is_float(x->dtype))
        return ev_none(loc);
    diag_error(eval->cx, loc, "%s: %s should be a floating 2d tensor of (N, 4), got %s %s",
               outer(eval, "this"), args[1].text, dtype_rows[x->dtype].name,
               shape_text(&eval->cx->arena, x->ndim, x->dims));
    return BAD;
}

/* _nms(boxes, scores, iou_threshold, max_output) */
static struct ev fn_nms(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    struct arena *arena = &eval->cx->arena;
    const struct value *boxes = args[0].tensor, *scores = args[1].tensor;
    struct value *inputs[3] = {args[0].tensor}, *kept;
    struct ev results[2];
    double threshold;
    int64_t most = 0;
    struct op *op;
    (void)count;

    if (!need_tensor(eval, "nms", &args[1]))
        return BAD;
    if (scores->ndim != 1 || !dim_equal(scores->dims[0], boxes->dims[0])) {
        diag_error(eval->cx, loc,
                   "%s: boxes and scores should have same number of elements in dimension 0, got %s and %s",
                   outer(eval, "nms"), shape_text(arena, boxes->ndim, boxes->dims),
                   shape_text(arena, scores->ndim, scores->dims));
        return BAD;
    }
    if (!ev_get_number(&args[2], &threshold)) {
        diag_error(eval->cx, loc,
                   "%s: iou_threshold must be a number that is known while generating, found %s",
                   outer(eval, "nms"), ev_text(eval, &args[2]));
        return BAD;
    }
    if (args[3].kind == EV_NONE || !ev_get_int(&args[3], &most) || most < 1 || most > 1 << 20) {
        diag_error(eval->cx, loc,
                   "%s: how many boxes stay is not known while generating: max_output says the most",
                   outer(eval, "nms"));
        diag_hint(eval->cx,
                  "keep, count = ops.nms(boxes, scores, iou_threshold, max_output=100): int64 indices, -1 "
                  "behind the last one, and how many there are");
        return BAD;
    }
    inputs[1] = build_argsort(eval, loc, args[1].tensor, 0, true);
    inputs[2] = build_scalar(eval, loc, &args[2]);
    inputs[2] = inputs[2] ? build_cast(eval, loc, inputs[2], boxes->dtype) : NULL;
    if (!inputs[1] || !inputs[2])
        return BAD;
    op = op_new(eval, GRAPH_OP_NMS, "nms", inputs, 3);
    op->nms.most = most;
    kept = build_op(eval, loc, op);
    if (!kept)
        return BAD;
    results[0] = ev_tensor(loc, build_slice(eval, loc, kept, 0, dim_const(arena, 0), dim_const(arena, 1),
                                            dim_const(arena, most)));
    results[1] = ev_int(eval, loc, most);
    results[1] = ev_tensor(loc, eval_select(eval, kept, 0, &results[1]));
    return ev_tuple(eval, loc, results, 2);
}

/* _check_rois(input, boxes, output_size): (K, 5), or one (L, 4) for each image. */
static struct ev fn_check_rois(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    const struct value *x = args[0].tensor, *boxes = args[1].tensor;
    (void)count;

    if (!need_tensor(eval, "this", &args[0]) || !need_tensor(eval, "this", &args[1]))
        return BAD;
    if (x->ndim != 4 || !dtype_is_float(x->dtype) || boxes->dtype != x->dtype) {
        diag_error(
            eval->cx, loc,
            "%s: the input should be floating (N, C, H, W), of the type of the boxes, got %s %s and %s",
            outer(eval, "this"), dtype_rows[x->dtype].name, shape_text(&eval->cx->arena, x->ndim, x->dims),
            dtype_rows[boxes->dtype].name);
        return BAD;
    }
    if (boxes->ndim == 2 && dim_equals(boxes->dims[1], 5))
        return ev_none(loc);
    diag_error(eval->cx, args[1].loc,
               "%s: The boxes tensor shape is not correct as Tensor[K, 5], or Tensor[L, 4] in a list, got %s",
               outer(eval, "this"), shape_text(&eval->cx->arena, boxes->ndim, boxes->dims));
    return BAD;
}

/* The sides of the result: an integer, or two of them. */
static struct ev fn_roi_size(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    struct ev sides[2];
    int given[2];
    (void)count;

    if (!need_ints(eval, outer(eval, "output_size"), &args[0], 2, given))
        return BAD;
    for (int i = 0; i < 2; i++)
        sides[i] = ev_int(eval, loc, given[i]);
    if (given[0] > 0 && given[1] > 0)
        return ev_tuple(eval, loc, sides, 2);
    diag_error(eval->cx, loc, "%s: output_size must be positive, found %s", outer(eval, "this"),
               ev_text(eval, &args[0]));
    return BAD;
}

/* _roi_align(input, boxes in elements, sides, sampling_ratio, aligned) */
static struct ev fn_roi_align(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    struct value *inputs[] = {args[0].tensor, args[1].tensor};
    struct op *op = op_new(eval, GRAPH_OP_SAMPLE, "roi_align", inputs, 2);
    int64_t points;
    int sides[2];
    (void)count;

    if (!need_ints(eval, outer(eval, "output_size"), &args[2], 2, sides) ||
        !need_int(eval, "sampling_ratio", &args[3], &points) ||
        !need_bool(eval, "aligned", &args[4], &op->sample.aligned))
        return BAD;
    if (points > MOST_POINTS) {
        diag_error(eval->cx, loc, "%s: sampling_ratio must be at most %d, found %lld", outer(eval, "this"),
                   MOST_POINTS, (long long)points);
        diag_hint(eval->cx, "detection networks have 2; 0: as many as a part of a box has elements");
        return BAD;
    }
    op->sample.of = SAMPLE_BOXES;
    op->sample.high = sides[0];
    op->sample.wide = sides[1];
    op->sample.points = points > 0 ? (int)points : 0;
    return ev_tensor(loc, build_op(eval, loc, op));
}

static struct ev fn_bad_format(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    (void)count;
    diag_error(eval->cx, loc, "Unsupported Bounding Box Conversions for given in_fmt %s and out_fmt %s",
               ev_text(eval, &args[0]), ev_text(eval, &args[1]));
    diag_hint(eval->cx, "there are 'xyxy', 'xywh' and 'cxcywh'");
    return BAD;
}

/* [(L, 4), ...], one for each image, as (K, 5). */
static struct ev fn_joined_boxes(struct eval *eval, struct ev *args, int count, struct loc loc)
{
    struct arena *arena = &eval->cx->arena;
    struct value **parts = NULL;
    int part_count = 0;
    (void)count;

    if (args[0].kind != EV_TUPLE)
        return args[0];
    for (int i = 0; i < args[0].count; i++) {
        const struct ev *item = &args[0].items[i];
        struct ev number = ev_float(loc, i);
        struct value *columns[2] = {NULL, item->tensor};
        const struct dim *dims[2];

        if (item->kind != EV_TENSOR || item->tensor->ndim != 2 || !dim_equals(item->tensor->dims[1], 4) ||
            !dtype_is_float(item->tensor->dtype)) {
            diag_error(eval->cx, item->loc, "%s takes a list of boxes (L, 4), one for each image, found %s",
                       outer(eval, "this"), ev_text(eval, item));
            return BAD;
        }
        dims[0] = item->tensor->dims[0];
        dims[1] = dim_const(arena, 1);
        columns[0] = build_scalar(eval, loc, &number);
        columns[0] = columns[0] ? build_cast(eval, loc, columns[0], item->tensor->dtype) : NULL;
        columns[0] = columns[0] ? build_expand(eval, loc, columns[0], 2, dims) : NULL;
        if (!columns[0])
            return BAD;
        ARENA_PUSH(arena, parts, part_count, build_concat(eval, loc, "boxes", columns, 2, 1));
        if (!parts[part_count - 1])
            return BAD;
    }
    if (part_count > 0)
        return ev_tensor(loc, build_concat(eval, loc, "boxes", parts, part_count, 0));
    diag_error(eval->cx, args[0].loc, "%s takes a list of boxes (L, 4), one for each image, found %s",
               outer(eval, "this"), ev_text(eval, &args[0]));
    return BAD;
}

#define VISION FUNCTION_VISION

extern const struct function_row box_functions[];

const struct function_row box_functions[] = {
    {"ops.box_area(boxes)", VISION,
     .body = "_check_boxes(boxes, 'boxes')\n"
             "return (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])"},
    {"ops.box_iou(boxes1, boxes2)", VISION,
     .body = "parts = _box_parts(boxes1, boxes2)\n"
             "return parts[0] / parts[1]"},
    {"ops.generalized_box_iou(boxes1, boxes2)", VISION,
     .body = "inter, union = _box_parts(boxes1, boxes2)\n"
             "low = minimum(boxes1[:, None, :2], boxes2[:, :2])\n"
             "high = maximum(boxes1[:, None, 2:], boxes2[:, 2:])\n"
             "side = (high - low).clamp(min=0)\n"
             "area = side[..., 0] * side[..., 1]\n"
             "return inter / union - (area - union) / area"},
    {"_box_parts(boxes1, boxes2)", HIDDEN,
     .body = "_check_boxes(boxes1, 'boxes1')\n"
             "_check_boxes(boxes2, 'boxes2')\n"
             "low = maximum(boxes1[:, None, :2], boxes2[:, :2])\n"
             "high = minimum(boxes1[:, None, 2:], boxes2[:, 2:])\n"
             "side = (high - low).clamp(min=0)\n"
             "inter = side[..., 0] * side[..., 1]\n"
             "area1 = (boxes1[:, 2] - boxes1[:, 0]) * (boxes1[:, 3] - boxes1[:, 1])\n"
             "area2 = (boxes2[:, 2] - boxes2[:, 0]) * (boxes2[:, 3] - boxes2[:, 1])\n"
             "return inter, area1[:, None] + area2 - inter"},
    {"ops.box_convert(boxes, in_fmt, out_fmt)", VISION,
     .body = "known = in_fmt in ('xyxy', 'xywh', 'cxcywh') and out_fmt in ('xyxy', 'xywh', 'cxcywh')\n"
             "a, b, c, d = _four(boxes) if known else _bad_format(in_fmt, out_fmt)\n"
             "x1, y1 = (a - 0.5 * c, b - 0.5 * d) if in_fmt == 'cxcywh' else (a, b)\n"
             "x2, y2 = ((c, d) if in_fmt == 'xyxy' else (a + c, b + d) if in_fmt == 'xywh' else"
             " (a + 0.5 * c, b + 0.5 * d))\n"
             "return (boxes if in_fmt == out_fmt else stack((x1, y1, x2, y2), -1) if out_fmt == 'xyxy' else"
             " stack((x1, y1, x2 - x1, y2 - y1), -1) if out_fmt == 'xywh' else"
             " stack(((x1 + x2) / 2, (y1 + y2) / 2, x2 - x1, y2 - y1), -1))"},
    {"_four(boxes)", HIDDEN, .body = "return boxes[..., 0], boxes[..., 1], boxes[..., 2], boxes[..., 3]"},
    {"_bad_format(in_fmt, out_fmt)", HIDDEN, .build = fn_bad_format},
    {"ops.clip_boxes_to_image(boxes, size)", VISION,
     .body = "x = boxes[..., 0::2].clamp(0, size[1])\n"
             "y = boxes[..., 1::2].clamp(0, size[0])\n"
             "return stack((x, y), -1).reshape(boxes.shape)"},
    {"ops.nms(boxes, scores, iou_threshold, max_output=None)", VISION,
     .body = "_check_boxes(boxes, 'boxes')\n"
             "return _nms(boxes, scores, iou_threshold, max_output)"},
    /* Boxes of different classes are moved so far from each other that they share nothing. */
    {"ops.batched_nms(boxes, scores, idxs, iou_threshold, max_output=None)", VISION,
     .body = "_check_boxes(boxes, 'boxes')\n"
             "apart = idxs.to(boxes.dtype) * (boxes.max() + 1)\n"
             "return _nms(boxes + apart[:, None], scores, iou_threshold, max_output)"},
    {"_nms(boxes, scores, iou_threshold, max_output)", HIDDEN, .build = fn_nms},
    {"_check_boxes(boxes, name)", HIDDEN, .build = fn_check_boxes},
    {"ops.roi_align(input, boxes, output_size, spatial_scale=1.0, sampling_ratio=-1, aligned=False)", VISION,
     .body = "rois = _joined_boxes(boxes)\n"
             "_check_rois(input, rois)\n"
             "sides = _roi_size(output_size)\n"
             "rois = rois.detach()\n"
             "_check_below(rois[:, 0].long(), input.shape[0])\n"
             "places = rois[:, 1:] * spatial_scale - (0.5 if aligned else 0.0)\n"
             "places = cat((rois[:, :1], places), 1)\n"
             "return _roi_align(input, places, sides, sampling_ratio, aligned)"},
    {"_roi_align(input, places, sides, sampling_ratio, aligned)", HIDDEN, .build = fn_roi_align},
    {"ops.roi_pool(input, boxes, output_size, spatial_scale=1.0)", VISION,
     .body = "rois = _joined_boxes(boxes)\n"
             "_check_rois(input, rois)\n"
             "high, wide = _roi_size(output_size)\n"
             "rois = rois.detach()\n"
             "places = rois[:, 1:] * spatial_scale\n"
             "places = torch.sign(places) * torch.floor(abs(places) + 0.5)\n"
             "y = _roi_bins(places[:, 1], places[:, 3], high, input.shape[2])\n"
             "x = _roi_bins(places[:, 0], places[:, 2], wide, input.shape[3])\n"
             "images = input.index_select(0, rois[:, 0].long())\n"
             "held = where(x[:, None, None], images[:, :, :, None], -inf).max(-1).values\n"
             "held = where(y.mT[:, None, :, :, None], held[:, :, :, None], -inf).max(2).values\n"
             "return where((y.any(-1)[..., None] & x.any(-1)[:, None])[:, None], held, 0)"},
    /* Which elements of an axis are in each bin. */
    {"_roi_bins(start, end, size, length)", HIDDEN,
     .body = "bin = (end - start + 1).clamp(min=1)[:, None] / size\n"
             "at = arange(size).to(start.dtype)\n"
             "first = (torch.floor(at * bin) + start[:, None]).clamp(0, length)\n"
             "last = (torch.ceil((at + 1) * bin) + start[:, None]).clamp(0, length)\n"
             "cell = arange(length).to(start.dtype)\n"
             "return (cell >= first[..., None]) & (cell < last[..., None])"},
    {"_joined_boxes(boxes)", HIDDEN, .build = fn_joined_boxes},
    {"_check_rois(input, boxes)", HIDDEN, .build = fn_check_rois},
    {"_roi_size(output_size)", HIDDEN, .build = fn_roi_size},
    {.signature = NULL},
};
