#!/usr/bin/env python3
"""What an op is, its rows say: reads generator/, and fails where a file asks for the code of an op that it is not about.

    opcodes.py GENERATOR
    opcodes.py --planted GENERATOR    also copies it, plants such questions, and fails unless they are seen

To make an op (op_new, make_op, a record with .code) and to compute one (a row of algorithms.c) names it, which is no question. All
others stand in ABOUT with what the file is about: a new op that is no part of that touches none of them. What they ask of many
ops is a field or function of struct op_row (ops.h) or struct kernel_row (kernels/draft.h), and there is no switch. A file that
no longer asks for an op must lose it there."""

import pathlib
import re
import shutil
import sys
import tempfile

ABOUT = {
    "backward/adjoint_product.c": ("VIEW", "the gradient of a transposed weight is made transposed"),
    "backward/backward.c": ("CALL COMMIT CONST EXTERN FENCE INPUT MAP TENSOR VIEW WRITE YIELD", "where gradients begin and end; kept copies"),
    "commands/launches.c": ("CALL", "a region's kernels count for each call"),
    "commands/summary.c": ("CALL TENSOR", "a region's numbers count for each call; which parameters are read"),
    "emit/emit_entry.c": ("CALL", "what an entry needs of its sizes its regions need"),
    "emit/emit_function.c": ("CALL CHECK EXTERN FENCE UPDATE", "steps that are no call of a kernel are printed here"),
    "emit/emit_signature.c": ("INPUT", "arguments are inputs"),
    "eval/build_in_place.c": ("CONCAT FENCE INPUT VIEW WRITE", "a change in place goes back through views to what is changed"),
    "eval/build_map.c": ("MAP", "a line of elementwise.c brings gradients to its map"),
    "eval/build_place.c": ("CHECK REDUCE SORT VIEW", "indices that argmax or argsort made are in bounds; one check is enough"),
    "eval/eval_flow.c": ("INPUT TENSOR", "what is read under no_grad was not made there"),
    "eval/eval_statements.c": ("TENSOR", "a name for a parameter is no name for its value"),
    "functions/arguments.c": ("INPUT", "a hint that is for inputs alone"),
    "functions/norm.c": ("TENSOR", "running statistics are a buffer's version"),
    "functions/reduce.c": ("REDUCE", "amax says that NaNs share their gradient"),
    "functions/transformer.c": ("MAP VIEW", "a mask that is known to be the causal one is not read"),
    "graph/dead.c": ("CALL", "a call has the effects of its region"),
    "graph/graph.c": ("CALL CONCAT FENCE RANDOM TENSOR VIEW WRITE",
                      "roots of views, versions of slots, draws of a module; boundaries name that of their forward"),
    "graph/make.c": ("VIEW", "a view of a constant is one, which shows the same memory"),
    "graph/make_ops.c": ("VIEW", "a view of a view of one kind is one view"),
    "graph/graph_check.c": ("CALL INPUT VIEW WRITE YIELD", "invariants of views, versions, regions, inputs"),
    "graph/hooks.c": ("FENCE VIEW", "hooks see boundaries, through views"),
    "functions/conv.c": ("MAP", "casts of int8, what is taken from them and what stands around them become part of a convolution"),
    "lower/lower_region.c": ("CALL TENSOR WRITE", "what a region takes from its instance, and what keeps it inline"),
    "lower/lower_rows.c": ("CHECK", "a table that is asked by position has a row for each"),
    "passes/attention.c": ("CONTRACT MAP SOFTMAX VIEW", "the pattern that becomes ATTENTION"),
    "passes/check.c": ("CHECK VIEW WRITE", "checks move to the front, before writes"),
    "passes/fold.c": ("CONTRACT CONV MAP VIEW", "scales and biases go into the weights of these two"),
    "passes/fuse.c": ("MAP SCATTER VIEW WRITE", "maps join others; a write may not read what it replaces, and of rows puts these alone"),
    "passes/gates.c": ("CONTRACT RECURRENT VIEW", "a recurrent layer takes in the product of its input"),
    "passes/integer.c": ("CONCAT CONTRACT CONV MAP POOL REDUCE TENSOR VIEW", "what it has integer kernels of"),
    "passes/keep.c": ("CALL RECURRENT", "what these two save, and backward does not read, is not saved"),
    "passes/layout.c": ("CALL CONCAT CONTRACT CONV GRADIENT MAP POOL REDUCE SOFTMAX VIEW YIELD",
                        "convolutional parts become channels-last: a function for each op that can stand in one"),
    "passes/lookup.c": ("GATHER TENSOR", "an embedding of a packed parameter"),
    "passes/legalise.c": ("FENCE MAP VIEW YIELD", "views are resolved; copies are shared; hooks get memory of their own"),
    "passes/parts.c": ("CONCAT CONTRACT VIEW", "products of a concatenation"),
    "passes/prepare.c": ("MAP VIEW", "MODEL_pack computes maps, into which views of them go"),
    "passes/regions.c": ("CALL INPUT YIELD", "what of a region's borders its backward reads"),
    "passes/rescale.c": ("MAP", "factors stand in maps"),
    "passes/roll.c": ("CALL", "calls of neighbours become a loop"),
    "passes/ranges.c": ("CONCAT FENCE MAP POOL VIEW", "what is moved and picked, and not computed; boundaries are seen through"),
    "passes/toolkit.c": ("CONST CONV INPUT MAP TENSOR WRITE", "what is static, what writes change; heads of convolutions"),
    "passes/views.c": ("CONCAT MAP VIEW", "chains of views become shorter; maps move in front of views and joins"),
    "plan/contract_rows.c": ("TENSOR", "products with parameters are for other rows"),
    "plan/explain.c": ("CALL EXTERN FENCE", "steps that have no kernel"),
    "plan/kernels/names.c": ("MAP RANDOM REDUCE TENSOR WRITE", "what is named for a parameter, a buffer, or a module that is one function"),
    "plan/kernels/pack.c": ("TENSOR", "parameters are packed from where they lie"),
    "plan/plan.c": ("CALL CONST TENSOR YIELD", "regions before their callers; constants that packing reads; parameters that are read where they lie"),
    "plan/plan_choose.c": ("TENSOR", "weights that are read where the parameter lies"),
    "plan/plan_dump.c": ("CALL", "the memory of a region is its own"),
    "plan/plan_fence.c": ("FENCE", "the slots of boundaries"),
    "plan/plan_home.c": ("TENSOR", "packed weights are at home where their parameters are"),
    "plan/plan_join.c": ("CONCAT MAP VIEW", "note [joins]: concatenations, and copies"),
    "plan/plan_joined.c": ("COMMIT YIELD", "where the parts of a call end"),
    "plan/plan_lives.c": ("CALL", "the memory of a region lives during its call"),
    "plan/plan_names.c": ("FENCE", "what a boundary shows of a module's results is called after it"),
    "plan/plan_order.c": ("CALL UPDATE WRITE", "what must not overtake what replaces it"),
    "plan/plan_pack.c": ("MAP TENSOR", "an entry is made of parameters, and maps of them"),
    "plan/plan_rounding.c": ("CALL CONCAT NORM TENSOR YIELD", "what normalises, by itself or by statistics, amplifies errors; shares; regions"),
    "plan/plan_same.c": ("CALL CHECK EXTERN FENCE UPDATE", "steps that have no kernel are compared by what they say"),
    "plan/plan_value.c": ("CONST FENCE GRADIENT INPUT TENSOR UPDATE VIEW WRITE YIELD", "values that no kernel makes, and where they are"),
    "plan/plan_variant.c": ("CALL CONST FENCE WRITE YIELD", "regions, boundaries, constants, shadows of slots"),
    "plan/weights.c": ("CONST TENSOR", "what entries are filled from"),
}

NAMED = re.compile(r"GRAPH_OP_(?!COUNT\b)([A-Z_]+)")
MAKES = re.compile(r"(?:\b(?:op_new|make_op)\((?:[^()]|\([^()]*\))*?,\s*|code = |\bop_forced\([^,]*, |"
                   r'^    \{"\w+", )GRAPH_OP_[A-Z_]+', re.M)


def asked_in(text):
    """The ops that it asks for, and whether it has a switch over them."""
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    text = MAKES.sub("", text)
    return set(NAMED.findall(text)), re.search(r"\bcase GRAPH_OP_", text) is not None


def faults_of(folder):
    faults = []
    for path in sorted(folder.rglob("*.[ch]")):
        name = path.relative_to(folder).as_posix()
        if name.startswith("ops/"):
            continue
        asked, switch = asked_in(path.read_text())
        about = set(ABOUT.get(name, ("", ""))[0].split())
        if switch:
            faults.append(f"{name}: a switch over ops: make it a field of their rows, or a table of functions")
        for op in sorted(asked - about):
            faults.append(f"{name}: it asks for {op}, which ABOUT of opcodes.py does not know: what is asked belongs into the rows")
        for op in sorted(about - asked):
            faults.append(f"{name}: it no longer asks for {op}: ABOUT of opcodes.py still says so")
    faults += [f"{name}: ABOUT of opcodes.py names it, and it is not there" for name in ABOUT if not (folder / name).exists()]
    return faults


def sees_planted(folder):
    """Whether questions are seen that are written into a copy."""
    ladder = "static bool f(const struct op *op) { return op->code == GRAPH_OP_CONV || op->code == GRAPH_OP_POOL; }\n"
    switch = "static int f(const struct op *op) { switch (op->code) { case GRAPH_OP_CALL: return 1; default: return 0; } }\n"
    table = "static const bool fast[GRAPH_OP_COUNT] = {[GRAPH_OP_SORT] = true};\n"
    planted = {"plan/cost.c": ladder, "graph/dead.c": switch, "plan/plan_value.c": table, "emit/emit_map.c": ladder,
               "plan/algorithms.c": "static bool f(enum op_code code) { return code != GRAPH_OP_CTC; }\n"}
    seen = True
    with tempfile.TemporaryDirectory() as temporary:
        for name, line in planted.items():
            copy = pathlib.Path(temporary) / name.replace("/", "_")
            shutil.copytree(folder, copy)
            (copy / name).write_text(line + (copy / name).read_text())
            if not any(fault.startswith(name) for fault in faults_of(copy)):
                print(f"opcodes.py does not see '{line.strip()}' in {name}")
                seen = False
    return seen


def main():
    planted = sys.argv[1] == "--planted"
    folder = pathlib.Path(sys.argv[-1])
    faults = faults_of(folder)
    print("\n".join(faults))
    if faults or (planted and not sees_planted(folder)):
        sys.exit(1)


main()
