"""Writes tests/generation/*.txt and *.safetensors: what transformers 5.24 writes with small models of seven families.

    python3 tests/oracle/generate.py [FAMILY...]          # needs torch 2.15 and transformers 5.24
    python3 tests/oracle/generate.py --stops              # the cases of `stops` anew, where they are, and others as they were

FAMILY.yaml is a network of specs/networks with small constants; FAMILY.safetensors has its weights, drawn here, under the spec's keys.
A case is a line of FAMILY.txt, fields with ` | ` between them:
    options, NAME=VALUE as modc_generation_set takes them, with `;` between
    prompts (of T5: sources), `,` between
    ids of the responses, num_return_sequences for each prompt, `,` between
    scores of beams, or nothing
    log-probabilities of the ids by the logits as they come, or nothing
Cases with stop strings are of families whose yaml names words.json: 96 short words, written here too.

transformers gets each prompt alone. What may depend on rounding is drawn again: of scores that decide, the best is MARGIN above the
next one; of beams, and where tokens are drawn from what one token is left of, noise of that size in the logits changes nothing.
"""
import json
import os
import pathlib
import random
import re
import sys
import warnings

os.environ["TRANSFORMERS_VERBOSITY"] = "error"
import torch
import transformers
from transformers import GenerationConfig

import safetensors_io
from sampling import VERSIONS, ids_of, texts_of

warnings.filterwarnings("ignore")
FOLDER = pathlib.Path(__file__).resolve().parents[2] / "tests" / "generation"
MARGIN = 2e-4
VOCABULARY, EOS, LONG, SHORT = 96, 2, 64, 16


# ---- models -----------------------------------------------------------------------------------------------------------

LAYERS = {"vocab_size": VOCABULARY, "hidden_size": 32, "num_hidden_layers": 2}
LLAMA = {**LAYERS, "intermediate_size": 48, "num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 128,
         "attn_implementation": "eager"}
THETA = {"rope_theta": 10000.0, "rope_type": "default"}


def models():
    """name: class and what its config says."""
    return {
        "gpt2": (transformers.GPT2LMHeadModel, transformers.GPT2Config(
            vocab_size=VOCABULARY, n_embd=32, n_layer=2, n_head=4, n_positions=128, bos_token_id=EOS, eos_token_id=EOS)),
        "llama": (transformers.LlamaForCausalLM, transformers.LlamaConfig(**LLAMA)),
        "qwen2": (transformers.Qwen2ForCausalLM, transformers.Qwen2Config(
            **LLAMA, tie_word_embeddings=True, rope_parameters={**THETA, "rope_theta": 1e6}, use_sliding_window=False)),
        "gemma": (transformers.Gemma2ForCausalLM, transformers.Gemma2Config(
            **LLAMA, head_dim=16, query_pre_attn_scalar=16, sliding_window=12, rope_parameters=THETA)),
        "mistral": (transformers.MistralForCausalLM, transformers.MistralConfig(**LLAMA, sliding_window=12, rope_parameters=THETA)),
        "t5": (transformers.T5ForConditionalGeneration, transformers.T5Config(
            vocab_size=VOCABULARY, d_model=32, d_kv=8, d_ff=48, num_layers=2, num_heads=4, decoder_start_token_id=0)),
        "mamba": (transformers.MambaForCausalLM, transformers.MambaConfig(**LAYERS, state_size=8)),
    }


def made(name, seed):
    """A model whose text is not one word over and over."""
    kind, config = models()[name]
    torch.manual_seed(seed)
    model = kind(config).eval()
    tied = model.get_output_embeddings().weight is model.get_input_embeddings().weight
    with torch.no_grad():
        for key, parameter in model.named_parameters():
            if key.endswith(("A_log", "D", "dt_proj.bias")):
                parameter.add_(0.1 * torch.randn_like(parameter))
            elif parameter.dim() == 1:
                parameter.add_(0.2 * torch.randn_like(parameter))
            elif "embed" in key or "wte" in key or "shared" in key:
                parameter.normal_(0, {"t5": 0.3, "gemma": 0.05}.get(name, 0.5 if tied else 1.0))
            elif "wpe" in key:
                parameter.normal_(0, 0.5)
            elif "relative_attention_bias" in key:
                parameter.normal_(0, 2)
            else:
                fan = parameter[0].numel() if not (name == "gpt2" and "lm_head" not in key) else len(parameter)
                gain = 3 if "lm_head" in key or name == "t5" else 2
                parameter.normal_(0, (1 if name == "t5" and key.endswith(("q.weight", "k.weight")) else gain) * fan ** -0.5)
    model.generation_config = GenerationConfig()
    return model


def weights_of(name, model):
    """By the spec's keys."""
    tensors = {}
    for key, tensor in model.state_dict().items():
        short = re.sub(r"^(model|transformer|backbone)\.", "", key)
        short = short.replace("block.0.layer.0.SelfAttention.relative_attention_bias", "relative_attention_bias")
        if name == "t5" and ("embed_tokens" in short or short == "lm_head.weight"):
            continue
        if name == "gpt2" and re.search(r"(c_attn|c_proj|c_fc)\.weight$", short):
            tensor = tensor.T
        tensors[short] = tensor.contiguous()
    return tensors


# ---- words --------------------------------------------------------------------------------------------------------------

STOPPED = ("gpt2", "t5") # families with cases of `stops`
BYTES = {"type": "ByteLevel", "trim_offsets": True, "use_regex": True}
LETTERS = "abcdefghijklmnopqrstuvwxyz"
PAIRS = [a + b for a in "bdfklmnprst" for b in "aeiou"]
WORDS = ["<pad>", "<s>", "<end>", *LETTERS, *PAIRS, *(pair + "d" for pair in PAIRS[:VOCABULARY - 3 - 26 - len(PAIRS)])]


def write_words():
    """Byte-level BPE, of which the special tokens are the first three."""
    (FOLDER / "words.json").write_text(json.dumps({
        "added_tokens": [{"id": i, "content": WORDS[i], "special": True, "single_word": False, "lstrip": False, "rstrip": False,
                          "normalized": False} for i in range(3)],
        "pre_tokenizer": {**BYTES, "add_prefix_space": False}, "decoder": {**BYTES, "add_prefix_space": True},
        "model": {"type": "BPE", "vocab": {word: i for i, word in enumerate(WORDS)},
                  "merges": [[word[:-1], word[-1]] for word in WORDS[3 + 26:]]}}) + "\n")


def text_of(ids):
    return "".join(WORDS[id] for id in ids if id > 2)


# ---- what is written ----------------------------------------------------------------------------------------------------

class Written:
    """The responses to a prompt, and whether rounding could change them."""

    def __init__(self, model, options, prompt, noise=None):
        encodes = model.config.is_encoder_decoder
        config = {"num_beams": 1, "do_sample": False, "top_k": 0, "pad_token_id": 0, **options}
        config.pop("ignore_eos", None)
        config.pop("logprobs", None)
        words = {"tokenizer": transformers.PreTrainedTokenizerFast(tokenizer_file=str(FOLDER / "words.json"))} \
            if "stop_strings" in config else {}
        if encodes:
            config["decoder_start_token_id"] = 0
        if "mamba" in type(model).__name__.lower() and config["num_beams"] > 1:
            config["use_cache"] = False # its state does not follow beams
        handle = model.register_forward_hook(lambda module, args, out: self.shake(out, noise)) if noise is not None else None
        out = model.generate(torch.tensor([prompt]), attention_mask=torch.ones(1, len(prompt), dtype=torch.long),
                             generation_config=GenerationConfig(return_dict_in_generate=True, output_scores=True, **config), **words)
        if handle:
            handle.remove()
        start = 1 if encodes else len(prompt)
        self.ids, self.scores = [], out.sequences_scores.tolist() if config["num_beams"] > 1 else []
        for k, ids in enumerate(out.sequences.tolist()):
            ids = ids[start:start + int((out.beam_indices[k] >= 0).sum())] if config["num_beams"] > 1 else ids[start:]
            self.ids.append(ended(ids, options))
        self.margin = float("inf")
        if config["num_beams"] == 1:
            for row in out.scores:
                best = row[0].topk(2).values
                self.margin = min(self.margin, (best[0] - best[1]).item())

    @staticmethod
    def shake(out, noise):
        out.logits = out.logits + MARGIN * (2 * torch.rand(out.logits.shape, generator=noise) - 1)
        return out


def log_probs(model, prompt, ids):
    with torch.no_grad():
        if model.config.is_encoder_decoder:
            logits = model(input_ids=torch.tensor([prompt]), decoder_input_ids=torch.tensor([[0] + ids[:-1]])).logits[0]
        else:
            logits = model(input_ids=torch.tensor([prompt + ids[:-1]])).logits[0, len(prompt) - 1:]
    return logits.log_softmax(-1)[range(len(ids)), ids].tolist()


def written(model, options, prompt):
    """None: rounding might change it, or chance."""
    result = Written(model, options, prompt)
    if not result.margin > (1e9 if options.get("do_sample") else MARGIN):
        return None
    if options.get("num_beams", 1) > 1 or options.get("do_sample"):
        for seed in range(2):
            if Written(model, options, prompt, torch.Generator().manual_seed(seed)).ids != result.ids:
                return None
    return result


def ended(ids, options):
    """As an EOS would end them."""
    ends = [i + 1 for i, id in enumerate(ids) if id in options.get("eos_token_id", [])]
    return ids[:ends[0]] if ends else ids


def lively(name, ids):
    return len(set(ids)) >= (8 if name == "t5" else 13)


# ---- cases ------------------------------------------------------------------------------------------------------------

def processors(draw, flat):
    """Names of cases, and of each its options by the greedy responses to the prompts. flat: logits are near each other."""
    some = lambda g, first, last: draw.choice(draw.choice(g)[first:last])
    two = lambda g: (lambda row, at: row[at:at + 2])(draw.choice(g), draw.randint(1, 8))
    drawn = {"do_sample": True}
    return [
        ("sequence_bias", lambda g: {"sequence_bias": [[[some(g, 0, 6)], -3.5], [two(g), -8.0], [[EOS], 4.25]]}),
        ("encoder_repetition_penalty", lambda g: {"encoder_repetition_penalty": draw.choice([1.5, 2.5])}),
        ("encoder_repetition_penalty", lambda g: {"encoder_repetition_penalty": 0.6}),
        ("repetition_penalty", lambda g: {"repetition_penalty": 1.3}),
        ("repetition_penalty", lambda g: {"repetition_penalty": 0.8}),
        ("no_repeat_ngram_size", lambda g: {"no_repeat_ngram_size": 1}),
        ("no_repeat_ngram_size", lambda g: {"no_repeat_ngram_size": 2, "max_new_tokens": LONG}),
        ("encoder_no_repeat_ngram_size", lambda g: {"encoder_no_repeat_ngram_size": 1}),
        ("bad_words_ids", lambda g: {"bad_words_ids": [[some(g, 0, 6)], two(g)]}),
        ("min_length", lambda g: {"min_length": draw.choice([8, 14]), "eos_token_id": [g[0][2], g[1][3]]}),
        ("min_new_tokens", lambda g: {"min_new_tokens": 9, "eos_token_id": [g[0][2], g[1][3]]}),
        ("forced_bos_token_id", lambda g: {"forced_bos_token_id": draw.randrange(VOCABULARY)}),
        ("forced_eos_token_id", lambda g: {"forced_eos_token_id": [EOS], "eos_token_id": [EOS]}),
        ("exponential_decay", lambda g: {"exponential_decay_length_penalty": (4, 1.4), "eos_token_id": [EOS]}),
        ("suppress_tokens", lambda g: {"suppress_tokens": [some(g, 0, 6), some(g, 6, 12)]}),
        ("begin_suppress_tokens", lambda g: {"begin_suppress_tokens": [row[0] for row in g]}),
        ("renormalize_logits", lambda g: {"renormalize_logits": True, "repetition_penalty": 1.2}),
        ("remove_invalid_values", lambda g: {"remove_invalid_values": True, "repetition_penalty": 1.2}),
        ("temperature", lambda g: {**drawn, "temperature": 0.7, "top_k": 1, "repetition_penalty": 1.4}),
        ("top_p", lambda g: {**drawn, "top_p": 0.01, "no_repeat_ngram_size": 1}),
        ("top_h", lambda g: {**drawn, "top_h": 0.001, "suppress_tokens": [some(g, 0, 6)]}),
        ("min_p", lambda g: {**drawn, "min_p": 1.0, "bad_words_ids": [[some(g, 0, 6)]]}),
        ("typical_p", lambda g: {**drawn, "typical_p": 0.001}),
        ("epsilon_cutoff", lambda g: {**drawn, "epsilon_cutoff": 0.99, "repetition_penalty": 1.2}),
        ("eta_cutoff", lambda g: {**drawn, "eta_cutoff": 0.9, "temperature": 0.004 if flat else 0.04, "repetition_penalty": 1.5}),
        ("several", lambda g: {"repetition_penalty": 1.2, "no_repeat_ngram_size": 2, "suppress_tokens": [some(g, 0, 6)],
                               "bad_words_ids": [two(g)], "min_new_tokens": 6, "eos_token_id": [g[0][3], g[2][4]]}),
        ("several", lambda g: {"sequence_bias": [[[some(g, 0, 6)], -2.0]], "exponential_decay_length_penalty": (2, 1.2),
                               "encoder_repetition_penalty": 1.2, "begin_suppress_tokens": [g[1][0]], "eos_token_id": [EOS],
                               "forced_eos_token_id": [EOS]}),
    ]


def beams(draw):
    end = lambda g: {"eos_token_id": [draw.choice(g)[i] for i in (3, 9)]}
    return [lambda g, extra=extra: {**end(g), **extra(g)} for extra in (
        lambda g: {"num_beams": 2},
        lambda g: {"num_beams": 3, "num_return_sequences": 3},
        lambda g: {"num_beams": 4, "length_penalty": 0.0, "num_return_sequences": 2},
        lambda g: {"num_beams": 4, "length_penalty": 2.0, "early_stopping": True, "num_return_sequences": 4},
        lambda g: {"num_beams": 3, "length_penalty": -0.5, "early_stopping": "never"},
        lambda g: {"num_beams": 4, "early_stopping": True, "max_new_tokens": LONG, "ignore_eos": True, "num_return_sequences": 2},
        lambda g: {"num_beams": 3, "repetition_penalty": 1.2, "no_repeat_ngram_size": 2},
        lambda g: {"num_beams": 2, "min_new_tokens": 6, "suppress_tokens": [g[0][0]], "num_return_sequences": 2},
        lambda g: {"num_beams": 3, "forced_eos_token_id": [EOS], "eos_token_id": [EOS]},
        lambda g: {"num_beams": 3, "sequence_bias": [[[g[0][1]], -2.0], [[g[1][0], g[1][1]], -4.0]], "early_stopping": "never"},
    )]


def stops():
    """Of searches over beams. g: what the same search writes to each prompt without."""
    def some(draw, row, length):
        text = text_of(row)
        at = draw.randrange(1, max(2, len(text) - length))
        return text[at:at + length]

    plain = [{"num_beams": 3, "num_return_sequences": 3}, {"num_beams": 2, "early_stopping": True, "num_return_sequences": 2},
             {"num_beams": 4, "length_penalty": 0.0, "eos_token_id": [EOS]}]
    cases = [(options, lambda draw, g, lengths=lengths: {"stop_strings": [some(draw, row, length) for row, length in zip(g, lengths)]})
             for options, lengths in zip(plain, ((3,), (2, 4), (4, 3, 5)))]
    return cases + [({"num_beams": 3, "num_return_sequences": 2}, lambda draw, g: {"max_time": 1e-6})]


class Family:
    def __init__(self, name, seed):
        self.name, self.model = name, made(name, seed)
        self.draw = random.Random(f"{name} {seed}")
        self.lines, self.unchanged = [], 0

    def prompts(self, single=False):
        encodes = self.model.config.is_encoder_decoder
        return [[self.draw.randrange(3, VOCABULARY) for _ in range(1 if single and not encodes else self.draw.choice(lengths))]
                for lengths in (range(6, 9) if encodes else range(1, 4), range(5, 10), range(14, 21))]

    def usual(self, prompts, length=SHORT):
        return [Written(self.model, {"max_new_tokens": length}, prompt).ids[0] for prompt in prompts]

    def add(self, options, prompts, results):
        ids = [ids for result in results for ids in result.ids]
        scores = [score for result in results for score in result.scores]
        share = len(ids) // len(prompts)
        probs = [log_probs(self.model, prompts[k // share], row) if "logprobs" in options else [] for k, row in enumerate(ids)]
        stop = "".join(f";stop_strings={text}" for text in options.get("stop_strings", ()))
        self.lines.append(" | ".join([
            texts_of({name: value for name, value in options.items() if name != "stop_strings"}) + stop, ", ".join(map(ids_of, prompts)), ", ".join(map(ids_of, ids)),
            " ".join(f"{score:.6g}" for score in scores),
            ", ".join(" ".join(f"{p:.6g}" for p in row) for row in probs) if "logprobs" in options else ""]).rstrip())

    def case(self, make, changes=True, length=SHORT, single=False, probs=False):
        """Draws prompts until rounding does not matter and the options do."""
        for _ in range(60):
            prompts = self.prompts(single)
            usual = self.usual(prompts, SHORT if length == SHORT or changes else length)
            options = {"max_new_tokens": length, **make(usual)}
            if "eos_token_id" not in options:
                options["ignore_eos"] = True
            elif "ignore_eos" in options:
                del options["eos_token_id"]
            if probs:
                options["logprobs"] = "response"
            results = []
            while len(results) < len(prompts) and None not in results:
                results.append(written(self.model, options, prompts[len(results)]))
            if None in results:
                continue
            if changes and all(result.ids[0] == ended(row, options) for result, row in zip(results, usual)):
                continue
            self.add(options, prompts, results)
            return True
        return False

    def stop_case(self, plain, make):
        """Prompts end with <s>, in which no stop string can begin."""
        for _ in range(200):
            prompts = [prompt[:-1] + [1] for prompt in self.prompts()]
            base = {"max_new_tokens": SHORT, **plain}
            if "eos_token_id" not in base:
                base["ignore_eos"] = True
            usual = [Written(self.model, base, prompt).ids[0] for prompt in prompts]
            options = {**base, **make(self.draw, usual), "logprobs": "response"}
            results = []
            while len(results) < len(prompts) and None not in results:
                results.append(written(self.model, options, prompts[len(results)]))
            if None in results or any(result.ids[0] == row for result, row in zip(results, usual)):
                continue
            self.add(options, prompts, results)
            return True
        return False

    def write_stops(self):
        for k, case in enumerate(stops()):
            if not self.stop_case(*case):
                print(f"{self.name}: no case {k} of stops")

    def write(self):
        greedy = [self.case(lambda g: {}, False, LONG, probs=True),
                  self.case(lambda g: {"eos_token_id": [g[0][20], g[1][40], g[2][7]]}, False, LONG, probs=True),
                  self.case(lambda g: {"eos_token_id": [EOS]}, False, LONG)]
        if not all(greedy):
            return False
        for name, make in processors(self.draw, self.name in ("t5", "gemma")):
            if not self.case(make, name not in ("min_length", "remove_invalid_values"), single=name == "forced_bos_token_id"):
                print(f"{self.name}: no case of {name}")
        for k, make in enumerate(beams(self.draw)):
            if not self.case(make, False, 32 if k % 2 else SHORT, probs=True):
                print(f"{self.name}: no case {k} of beams")
        if self.name in STOPPED:
            self.write_stops()
        return True


def write(name):
    for seed in range(1, 200):
        family = Family(name, seed)
        rows = family.usual(family.prompts(), LONG)
        if not all(lively(name, row) for row in rows) or not family.write():
            continue
        head = (f"# Of torch {torch.__version__.split('+')[0]} and transformers {transformers.__version__}, by python3 "
                f"tests/oracle/generate.py, which says what the fields are.\n")
        (FOLDER / f"{name}.txt").write_text(head + "".join(re.sub("  +", " ", line) + "\n" for line in family.lines))
        safetensors_io.save(FOLDER / f"{name}.safetensors", weights_of(name, family.model))
        print(f"{name}: seed {seed}, {len(family.lines)} cases, {(FOLDER / f'{name}.txt').stat().st_size} bytes of text, "
              f"{(FOLDER / f'{name}.safetensors').stat().st_size} of weights; e.g. {ids_of(rows[1][:30])}", flush=True)
        return
    raise SystemExit(f"{name}: no seed will do")


def rewrite_stops(name):
    """By the seed that the file's weights are of."""
    kept = (FOLDER / f"{name}.safetensors").read_bytes()
    for seed in range(1, 200):
        family = Family(name, seed)
        safetensors_io.save(FOLDER / "probe", weights_of(name, family.model))
        found = (FOLDER / "probe").read_bytes() == kept
        (FOLDER / "probe").unlink()
        if found:
            break
    else:
        raise SystemExit(f"{name}: no seed makes these weights")
    family.write_stops()
    lines = [line for line in (FOLDER / f"{name}.txt").read_text().splitlines() if "stop_strings=" not in line and "max_time=" not in line]
    (FOLDER / f"{name}.txt").write_text("".join(re.sub("  +", " ", line) + "\n" for line in lines + family.lines))


def main():
    for module, version in VERSIONS.items():
        if not module.__version__.startswith(version):
            raise SystemExit(f"{module.__name__} {module.__version__}: it has to be {version}*")
    torch.set_num_threads(1)
    write_words()
    for name in STOPPED if sys.argv[1:] == ["--stops"] else ():
        rewrite_stops(name)
    for name in () if sys.argv[1:] == ["--stops"] else sys.argv[1:] or models():
        write(name)


if __name__ == "__main__":
    main()
