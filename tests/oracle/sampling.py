"""Writes tests/sampling/*.txt: what transformers 5.24 makes of rows of scores, of beams, and of tokens that came before.

    python3 tests/oracle/sampling.py           # needs torch 2.15 and transformers 5.24

A case is a line of fields with `|` between them. Options are NAME=VALUE as modc_generation_set takes them, with `;` between.
processors.txt: options | prompt | ids that were generated | scores | scores behind the processors (-: -infinity)
beams.txt:      options | vocabulary | seed of the logits | prompt | score and ids of each sequence that is returned, `,` between;
                greedy ones have no score
lookup.txt:     n-gram size | count | max_length | EOS | ids | tokens that are proposed
The logits of beams.txt are `logits_of` below, which tests/unit/test_beams.c has in C. Cases whose result depends on rounding
(float64 makes something else of it) are left out.
"""
import itertools
import os
import pathlib
import random
import warnings

os.environ["TRANSFORMERS_VERBOSITY"] = "error"
import torch
import transformers
from transformers import GenerationConfig, GenerationMixin, PretrainedConfig, PreTrainedModel
from transformers.generation.candidate_generator import PromptLookupCandidateGenerator
from transformers.modeling_outputs import CausalLMOutput

warnings.filterwarnings("ignore")
FOLDER = pathlib.Path(__file__).resolve().parents[2] / "tests" / "sampling"
VERSIONS = {torch: "2.15.", transformers: "5.24."}


# ---- a model ----------------------------------------------------------------------------------------------------------

def mixed(value):
    value &= 0xffffffff
    value = (value ^ value >> 16) * 0x7feb352d & 0xffffffff
    value = (value ^ value >> 15) * 0x846ca68b & 0xffffffff
    return value ^ value >> 16


def logits_of(seed, ids, vocabulary):
    """By the last two tokens and the length."""
    state = mixed(seed)
    for number in (ids[-1], ids[-2] if len(ids) > 1 else 0, len(ids)):
        state = mixed(state + number + 1)
    return [(mixed(state + v + 1) >> 12) / 2 ** 17 - 4 for v in range(vocabulary)]


class Tiny(PreTrainedModel, GenerationMixin):
    config_class = PretrainedConfig
    main_input_name = "input_ids"

    def __init__(self, config, vocabulary, seed, dtype=torch.float32):
        super().__init__(config)
        self.vocabulary, self.seed, self.kind = vocabulary, seed, dtype
        self.nothing = torch.nn.Parameter(torch.zeros(1))

    def prepare_inputs_for_generation(self, input_ids, attention_mask=None, **kwargs):
        return {"input_ids": input_ids}

    def forward(self, input_ids, attention_mask=None, **kwargs):
        rows = [logits_of(self.seed, ids, self.vocabulary) for ids in input_ids.tolist()]
        return CausalLMOutput(logits=torch.tensor(rows, dtype=self.kind)[:, None])


def model_of(vocabulary, seed=0):
    return Tiny(PretrainedConfig(vocab_size=vocabulary, is_encoder_decoder=False), vocabulary, seed)


# ---- options as both sides have them ----------------------------------------------------------------------------------

def text_of(name, value):
    if isinstance(value, bool):
        return str(value).lower()
    if name == "sequence_bias":
        return ", ".join(" ".join(map(str, ids)) + f": {bias:g}" for ids, bias in value)
    if name == "bad_words_ids":
        return ", ".join(" ".join(map(str, ids)) for ids in value)
    if isinstance(value, (list, tuple)):
        return ", ".join(f"{item:g}" for item in value)
    return f"{value:g}" if isinstance(value, float) else str(value)


def texts_of(options):
    return ";".join(f"{name}={text_of(name, value)}" for name, value in options.items())


def ids_of(ids):
    return " ".join(map(str, ids))


def config_of(options):
    return GenerationConfig(**{"num_beams": 1, "do_sample": False, "top_k": 0, **options})


# ---- processors -------------------------------------------------------------------------------------------------------

def processed(options, prompt, ids, scores, dtype):
    model = model_of(len(scores))
    config = config_of(options)
    for name, value in {"temperature": 1.0, "top_p": 1.0, "typical_p": 1.0, "repetition_penalty": 1.0, "epsilon_cutoff": 0.0,
                        "eta_cutoff": 0.0, "encoder_repetition_penalty": 1.0}.items():
        if getattr(config, name) is None:
            setattr(config, name, value)
    model._prepare_special_tokens(config, False, device="cpu")
    config.max_length = options.get("max_length", len(prompt) + 20)
    processors = model._get_logits_processor(config, len(prompt), torch.tensor([prompt]), None, [], "cpu", {})
    return processors(torch.tensor([prompt + ids]), torch.tensor([scores], dtype=torch.float32).to(dtype))[0]


def number_text(value):
    return "-" if value == float("-inf") else f"{value:.7g}"


def scores_of(draw, vocabulary, tied):
    digits, spread = draw.choice([0, 1, 3, 3]) if tied else 4, draw.choice([1, 2, 5])
    scores = [round(draw.gauss(0, 1) * spread, digits) + 0.0 for _ in range(vocabulary)]
    if draw.random() < 0.2:
        for v in draw.sample(range(vocabulary), vocabulary // 4):
            scores[v] = float("-inf")
    return scores


def some_ids(draw, vocabulary, least, most):
    return [draw.randrange(vocabulary) for _ in range(draw.randint(least, most))]


def makers(draw, vocabulary, history):
    """For each option: a value."""
    def sequences():
        lists = [some_ids(draw, vocabulary, 1, 3) for _ in range(draw.randint(1, 4))]
        last = draw.randint(1, 2)
        if len(history) >= last:
            lists.append(history[-last:] + [draw.randrange(vocabulary)])
        return [list(ids) for ids in dict.fromkeys(map(tuple, lists))]
    number = lambda *values: draw.choice(values)
    return {
        "sequence_bias": lambda: [[ids, round(draw.uniform(-5, 5), 2)] for ids in sequences()],
        "encoder_repetition_penalty": lambda: number(1.3, 0.8, 2.0),
        "repetition_penalty": lambda: number(1.2, 2.0, 0.7),
        "no_repeat_ngram_size": lambda: number(1, 2, 3, 4),
        "encoder_no_repeat_ngram_size": lambda: number(1, 2, 3),
        "bad_words_ids": sequences,
        "min_length": lambda: number(2, 6, 9),
        "min_new_tokens": lambda: number(1, 3, 5),
        "forced_bos_token_id": lambda: draw.randrange(vocabulary),
        "forced_eos_token_id": lambda: some_ids(draw, vocabulary, 1, 2),
        "remove_invalid_values": lambda: True,
        "exponential_decay_length_penalty": lambda: (number(0, 1, 2), number(1.1, 1.5, 0.9)),
        "suppress_tokens": lambda: some_ids(draw, vocabulary, 1, 4),
        "begin_suppress_tokens": lambda: some_ids(draw, vocabulary, 1, 4),
        "temperature": lambda: number(0.7, 1.5, 0.25),
        "top_h": lambda: number(0.3, 0.5, 0.8),
        "top_k": lambda: number(1, 2, 3, 5, 8, 50),
        "top_p": lambda: number(0.9, 0.5, 0.3, 0.0, 0.95),
        "min_p": lambda: number(0.05, 0.1, 0.3, 1.0),
        "typical_p": lambda: number(0.2, 0.5, 0.9),
        "epsilon_cutoff": lambda: number(0.01, 0.05, 0.2, 0.9),
        "eta_cutoff": lambda: number(0.01, 0.1, 0.5),
        "renormalize_logits": lambda: True,
    }


SAMPLING = ("temperature", "top_h", "top_k", "top_p", "min_p", "typical_p", "epsilon_cutoff", "eta_cutoff")
OF_EOS = ("min_length", "min_new_tokens", "exponential_decay_length_penalty")


def completed(options, draw, vocabulary):
    """What the options need beside them."""
    eos = options.pop("eos_token_id", None) or sorted(draw.sample(range(vocabulary), draw.randint(1, 2)))
    if any(name in options for name in OF_EOS) or draw.random() < 0.3:
        options["eos_token_id"] = eos
    if any(name in options for name in SAMPLING):
        options["do_sample"] = True
        if draw.random() < 0.3:
            options["num_beams"] = 2
    if "min_length" in options and "min_new_tokens" in options:
        del options["min_length"]
    if "forced_eos_token_id" in options:
        options["max_length"] = draw.choice([4, 6, 8])
    if options.get("min_length", 0) > options.get("max_length", 20):
        del options["max_length"], options["forced_eos_token_id"]
    forced = options.get("forced_eos_token_id", [])
    if set(forced) & set(options.get("suppress_tokens", [])) or options.get("forced_bos_token_id") in options.get(
            "suppress_tokens", []):
        del options["suppress_tokens"]
    return options


def processor_line(draw, names, vocabulary):
    prompt = some_ids(draw, min(vocabulary, 6), 1, 5) if draw.random() < 0.7 else [draw.randrange(vocabulary)]
    ids = [draw.randrange(min(vocabulary, 6)) for _ in range(draw.choice([0, 0, 1, 2, 4, 6]))]
    made = makers(draw, vocabulary, prompt + ids)
    options = completed({name: made[name]() for name in names if name in made}, draw, vocabulary)
    if options.get("max_length", 20) <= len(prompt) or options.get("min_new_tokens", 0) > options.get("max_length", 20):
        return None
    # Which of equal scores are kept by those that sort is nobody's promise.
    scores = scores_of(draw, vocabulary, not any(name in options for name in ("top_h", "top_p", "typical_p", "num_beams")))
    if {"remove_invalid_values", "bad_words_ids"} <= set(options): # +infinity - infinity, of which a NaN comes and then 0
        return None
    if "remove_invalid_values" in options:
        for v in draw.sample(range(vocabulary), 3):
            scores[v] = draw.choice([float("nan"), float("inf"), float("-inf")])
        if "do_sample" in options: # the largest and the least numbers, of which there are several
            scores = [0.5 if score == float("inf") else -7.5 if score == float("-inf") else score for score in scores]
    try:
        result, exact = (processed(options, prompt, ids, scores, dtype) for dtype in (torch.float32, torch.float64))
    except ValueError: # nothing but -infinity is left, of which there is no entropy
        return None
    if not torch.equal(result == float("-inf"), exact == float("-inf")) and "remove_invalid_values" not in options:
        return None
    return " | ".join([texts_of(options), ids_of(prompt), ids_of(ids), " ".join(map(number_text, scores)),
                       " ".join(map(number_text, result.tolist()))])


def write_processors():
    draw, lines = random.Random(1), []
    names = list(makers(draw, 8, [1]))

    def add(chosen, count):
        before = len(lines)
        while len(lines) < before + count:
            line = processor_line(draw, chosen(), draw.choice([5, 12, 20, 30]) if count < 20 else draw.choice([8, 16, 24]))
            if line:
                lines.append(line)
    for name in names:
        add(lambda: [name], 8)
    add(lambda: draw.sample(names, draw.randint(2, 5)), 90)
    for pair in itertools.combinations(SAMPLING, 2): # whose order matters
        add(lambda: pair, 3)
    add(lambda: draw.sample(SAMPLING, draw.randint(3, 5)), 30)
    add(lambda: draw.sample(names, draw.randint(6, 12)), 50)
    write("processors.txt", lines)


# ---- beams ------------------------------------------------------------------------------------------------------------

def generated(options, vocabulary, seed, prompt):
    model = model_of(vocabulary, seed)
    config = config_of({"output_scores": True, "return_dict_in_generate": True, "use_cache": False, **options})
    if config.eos_token_id is None:
        config.pad_token_id = 0
    out = model.generate(torch.tensor([prompt]), attention_mask=torch.ones(1, len(prompt), dtype=torch.long),
                         generation_config=config)
    sequences = out.sequences.tolist()
    if config.num_beams == 1:
        return [(None, sequences[0][len(prompt):])]
    lengths = (out.beam_indices >= 0).sum(dim=1).tolist()
    return [(score, ids[len(prompt):len(prompt) + length])
            for score, ids, length in zip(out.sequences_scores.tolist(), sequences, lengths)]


def beam_options(draw, vocabulary):
    options = {"num_beams": draw.choice([1, 2, 3, 4, 5]), "max_new_tokens": draw.choice([1, 4, 8, 12, 16])}
    if draw.random() < 0.8:
        options["eos_token_id"] = sorted(draw.sample(range(vocabulary), draw.choice([1, 1, 2, 3])))
    if options["num_beams"] > 1:
        options["length_penalty"] = draw.choice([1.0, 1.0, 0.0, 2.0, -0.5, 0.6])
        options["early_stopping"] = draw.choice([False, True, "never"])
        options["num_return_sequences"] = draw.randint(1, options["num_beams"])
    made = makers(draw, vocabulary, [])
    for name in draw.sample([n for n in made if n not in SAMPLING and n not in OF_EOS], draw.choice([0, 0, 1, 2])):
        options[name] = made[name]()
    if "eos_token_id" in options and draw.random() < 0.6: # or a search hardly ends before the length does
        bias = draw.choice([1.5, 3.0, 5.0])
        options["sequence_bias"] = [[[eos], bias] for eos in options["eos_token_id"]]
    if "eos_token_id" in options and draw.random() < 0.3:
        options["min_new_tokens"] = min(3, options["max_new_tokens"])
    for name in ("forced_bos_token_id", "remove_invalid_values"): # of which equal scores come
        options.pop(name, None)
    if "forced_eos_token_id" in options: # of two, which are equal, it is nobody's promise which is the best
        del options["forced_eos_token_id"][1:]
        if set(options["forced_eos_token_id"]) <= set(options.get("suppress_tokens", [])):
            del options["suppress_tokens"]
    return options


def write_beams():
    draw, lines = random.Random(2), []
    while len(lines) < 240:
        vocabulary, seed = draw.choice([13, 20, 40]), draw.randrange(10000)
        options, prompt = beam_options(draw, vocabulary), some_ids(draw, vocabulary, 1, 5)
        if options.get("no_repeat_ngram_size") == 1 and vocabulary < len(prompt) + options["max_new_tokens"]:
            continue # at last no token is left, and transformers takes the first
        results = generated(options, vocabulary, seed, prompt)
        if any(score is not None and score < -1e8 for score, _ in results):
            continue # fewer candidates than beams: which of the equal rest is taken is nobody's promise
        lines.append(" | ".join([texts_of(options), str(vocabulary), str(seed), ids_of(prompt), ", ".join(
            ids_of(ids) if score is None else f"{score:.6g} {ids_of(ids)}".strip() for score, ids in results)]))
    write("beams.txt", lines)


# ---- lookup -----------------------------------------------------------------------------------------------------------

def write_lookup():
    draw, lines = random.Random(3), []
    for _ in range(120):
        size, count, letters = draw.randint(1, 4), draw.randint(1, 6), draw.choice([2, 3, 6, 20])
        ids = some_ids(draw, letters, 1, 20)
        eos = draw.choice([[], [draw.randrange(letters)]])
        most = draw.choice([len(ids) + 1, len(ids) + 2, len(ids) + 10])
        finder = PromptLookupCandidateGenerator(torch.tensor(eos) if eos else None, count, size, most)
        found = finder.get_candidates(torch.tensor([ids]))[0][0].tolist()[len(ids):]
        lines.append(" | ".join([str(size), str(count), str(most), ids_of(eos), ids_of(ids), ids_of(found)]))
    write("lookup.txt", lines)


def write(name, lines):
    FOLDER.mkdir(exist_ok=True)
    head = f"# Of transformers {transformers.__version__}, by python3 tests/oracle/sampling.py, which says what the fields are.\n"
    (FOLDER / name).write_text(head + "".join(line.replace("  ", " ") + "\n" for line in lines))
    print(f"{name}: {len(lines)} cases, {(FOLDER / name).stat().st_size} bytes")


def main():
    for module, version in VERSIONS.items():
        if not module.__version__.startswith(version):
            raise SystemExit(f"{module.__name__} {module.__version__}: it has to be {version}*")
    write_processors()
    write_lookup()
    write_beams()


if __name__ == "__main__":
    main()
