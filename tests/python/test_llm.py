#!/usr/bin/env python3
"""modc.LLM: what section "modc.LLM" of docs/python.md says, and its messages. The model counts: behind id i comes i + 1, whose
log-probability is SURE."""
import array
import asyncio
import copy
import gc
import math
import os
import pickle
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import weakref
from pathlib import Path
from queue import Full
from unittest import mock

import models
from models import Case, FLAGS, HAS_NUMPY, HAS_TORCH, ROOT, SMALL, floats, modc
from modc import _library as lib
from modc._llm import policy
from modc._llm.generator import option_texts

IDS, CONTEXT = 12, 16
COUNT = """modc: 1
model: count
constants: {ids: 12}
sizes: {rows: 8}
inputs: {token: {shape: [rows], dtype: int64}}
modules:
  embed: Embedding(ids, ids)
  head: Linear(ids, ids, bias=False)
forward: return head(last(embed(token)))
generation: {context: 16, sequences: 3, eos: 11, pad: 10}
"""
SURE = -math.log(1 + (IDS - 1) * math.exp(-10))
UNSURE = SURE - 10


def counting(ids):
    """embed is the identity; head makes 10 of the next one."""
    embed, head = [0.0] * (ids * ids), [0.0] * (ids * ids)
    for i in range(ids):
        embed[i * ids + i] = 1.0
        head[(i + 1) % ids * ids + i] = 10.0
    return {"embed.weight": floats(embed, ids, ids), "head.weight": floats(head, ids, ids)}


NET = modc.compile(COUNT, weights=counting(IDS), cflags=FLAGS)
WORDS = None


def reading(name):
    """The model over tests/tokens/words.json, whose ids from 1 on are: the of a and is modc in 1 that it. It ends with in."""
    text = COUNT.replace("ids: 12", "ids: 300").replace("model: count", f"model: {name}").replace("eos: 11, pad: 10", "eos: 7")
    return f"{text}tokenizer: {ROOT / 'tests/tokens/words.json'}\n"


def words():
    global WORDS
    if WORDS is None:
        WORDS = modc.compile(reading("words"), weights=counting(300), cflags=FLAGS)
    return WORDS


def llm(net=None, **arguments):
    arguments = {"input_mode": "tokens", "arrays": "modc", **arguments}
    return modc.LLM(net or NET, **arguments)


def lists(value):
    """Arrays in it as lists."""
    if isinstance(value, list):
        return [lists(one) for one in value]
    return value.tolist() if hasattr(value, "tolist") else value


class Near(Case):
    def near(self, found, wanted):
        found, wanted = lists(found), lists(wanted)
        if isinstance(wanted, list):
            self.assertEqual(len(found), len(wanted))
            for one, other in zip(found, wanted):
                self.near(one, other)
        else:
            self.assertAlmostEqual(found, wanted, places=4)


class Tokens(Near):
    def test_ragged(self):
        result = llm().generate([[1, 2, 3], [8]])
        self.assertEqual(lists(result.tokens.prompt), [[1, 2, 3], [8]])
        self.assertEqual(lists(result.tokens.response), [[4, 5, 6, 7, 8, 9, 10, 11], [9, 10, 11]])
        self.assertEqual(lists(result.tokens.full), [[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11], [8, 9, 10, 11]])
        self.assertEqual(lists(result.masks.all_attention_mask), [[True] * 11, [True] * 4])
        self.assertEqual(lists(result.masks.all_assistant_mask), [[False] * 3 + [True] * 8, [False] + [True] * 3])
        self.near(result.log_probs.response, [[SURE] * 8, [SURE] * 3])
        self.assertIsNone(result.log_probs.prompt)
        self.assertEqual(lists(result.lengths.response), [8, 3])
        self.assertEqual((result.finish, result.text, result.scores, result.tokens.padded), (["eos", "eos"], None, None, False))

    def test_padded(self):
        """10 is the pad id, and a token that both write: lengths and masks count it."""
        result = llm(pad_output=True).generate([[1, 2, 3], [8]])
        self.assertEqual(lists(result.tokens.prompt), [[1, 2, 3], [10, 10, 8]])
        self.assertEqual(lists(result.tokens.response), [[4, 5, 6, 7, 8, 9, 10, 11], [9, 10, 11, 10, 10, 10, 10, 10]])
        self.assertEqual(lists(result.tokens.full)[1], [10, 10, 8, 9, 10, 11, 10, 10, 10, 10, 10])
        self.assertEqual(lists(result.masks.all_attention_mask)[1], [False, False] + [True] * 4 + [False] * 5)
        self.assertEqual(lists(result.masks.all_assistant_mask)[1], [False] * 3 + [True] * 3 + [False] * 5)
        self.near(result.log_probs.response, [[SURE] * 8, [SURE] * 3 + [0.0] * 5])
        self.assertEqual((lists(result.lengths.prompt), lists(result.lengths.full)), ([3, 1], [11, 4]))

    def test_nesting(self):
        one = llm(generate_kwargs={"max_new_tokens": 2}).generate([3, 4])
        self.assertEqual((lists(one.tokens.response), one.finish, lists(one.lengths.full)), ([5, 6], "length", 4))
        four = llm(generate_kwargs={"max_new_tokens": 1}).generate([[[1], [2]], [[3], [4]]])
        self.assertEqual(lists(four.tokens.response), [[[2], [3]], [[4], [5]]])
        self.assertEqual(lists(llm(pad_output=True).score([[[1], [2]], [[3], [4]]]).tokens.full), [[[1], [2]], [[3], [4]]])

    def test_masks(self):
        """What a mask leaves out is no token, wherever the pad id stands; rows keep the width that they were given."""
        padded = memoryview(array.array("q", [10, 10, 1, 2, 10, 3, 4, 5])).cast("B").cast("q", (2, 4))
        mask = [[0, 0, 1, 1], [1, 1, 1, 1]]
        result = llm(pad_output=True, generate_kwargs={"max_new_tokens": 1}).generate(padded, attention_mask=mask)
        self.assertEqual(lists(result.tokens.full), [[10, 10, 1, 2, 3], [10, 3, 4, 5, 6]])
        self.assertEqual(lists(result.lengths.prompt), [2, 4])
        self.says(ValueError, "generate(): a prompt: row 0 begins with the pad id 10, and no attention_mask says whether that is a "
                  "token", llm().generate, padded)
        behind = memoryview(array.array("q", [1, 10, 3, 4])).cast("B").cast("q", (2, 2))
        self.says(ValueError, "score(): a text: row 0 ends with the pad id 10, and no attention_mask says whether that is a token",
                  llm().score, behind)
        self.assertEqual(lists(llm().generate([[10, 1], [10, 2]], max_new_tokens=1).tokens.response), [[2], [3]])

    def test_scores(self):
        result = llm().score([[1, 2, 3, 7], [5, 6]])
        self.near(result.log_probs.full, [[0.0, SURE, SURE, UNSURE], [0.0, SURE]])
        self.assertEqual((result.tokens.prompt, result.log_probs.response, result.masks.all_assistant_mask), (None, None, None))
        padded = llm(pad_output=True).score([[1, 2, 3, 7], [5, 6]])
        self.near(padded.log_probs.full, [[0.0, SURE, SURE, UNSURE], [0.0, 0.0, 0.0, SURE]])
        self.assertEqual(lists(padded.tokens.full)[1], [10, 10, 5, 6])
        self.assertEqual(lists(padded.masks.all_attention_mask)[1], [False, False, True, True])
        logits = llm().logits([[1, 2], [3]])
        self.assertEqual(lists(logits), [[[0.0] * IDS, [0.0, 0.0, 10.0] + [0.0] * 9], [[0.0] * IDS]])
        long = list(range(11)) + [1, 2, 3, 4, 5]  # more rows than a call has
        self.near(llm().score([long]).log_probs.full, [[0.0] + [SURE] * 10 + [UNSURE] + [SURE] * 4])

    def test_log_probs(self):
        made = llm(zero_first=True, generate_kwargs={"max_new_tokens": 2, "prompt_logprobs": True})
        result = made.generate([[1, 2], [3]])
        self.near(result.log_probs.response, [[0.0, SURE], [0.0, SURE]])
        self.near(result.log_probs.prompt, [[0.0, SURE], [0.0]])
        self.near(result.log_probs.full, [[0.0, SURE, 0.0, SURE], [0.0, 0.0, SURE]])
        wide = memoryview(array.array("q", [10, 10, 1, 2])).cast("B").cast("q", (1, 4))
        wider = made.get_new_version(pad_output=True).generate(wide, attention_mask=[[0, 0, 1, 1]])
        self.near(wider.log_probs.full, [[0.0, 0.0, 0.0, SURE, 0.0, SURE]])
        padded = made.get_new_version(pad_output=True, zero_first=False).generate([[1, 2], [3]])
        self.near(padded.log_probs.full, [[0.0, SURE, SURE, SURE], [0.0, 0.0, SURE, SURE]])
        self.near(llm(generate_kwargs={"logprobs": "full"}).generate([5, 6]).log_probs.prompt, [0.0, SURE])
        self.assertIsNone(llm(return_log_probs=False).generate([[5]]).log_probs)

    def test_samples(self):
        draws = {"max_new_tokens": 6, "temperature": 8.0}
        made = llm(num_samples=3, generate_kwargs=draws)
        result = made.generate([[1], [2]])
        found = lists(result.tokens.response)
        self.assertEqual([[len(row) for row in rows] for rows in found], lists(result.lengths.response))
        self.assertEqual((len(found), len(found[0])), (2, 3))
        self.assertNotEqual(found[0][0], found[0][1])
        self.assertNotEqual(lists(made.generate([[1], [2]]).tokens.response), found)  # each call draws anew
        made.seed(0)
        self.assertEqual(lists(made.generate([[1], [2]]).tokens.response), found)
        fixed = {**draws, "seed": 5, "n": 3}
        self.assertEqual(*(lists(llm(generate_kwargs=fixed).generate([[1]]).tokens.response) for _ in range(2)))
        single = llm(num_samples=1, pad_output=True).generate([[9], [10]])
        self.assertEqual(lists(single.tokens.response), [[[10, 11]], [[11, 10]]])
        self.assertEqual((single.finish, lists(single.lengths.full)), ([["eos"], ["eos"]], [[3], [2]]))
        self.assertEqual(len(llm().generate([5], n=2, **draws).finish), 2)

    def test_beams(self):
        result = llm(generate_kwargs={"num_beams": 3, "num_return_sequences": 2, "max_new_tokens": 2}).generate([[1], [8]])
        self.assertEqual([rows[0] for rows in lists(result.tokens.response)], [[2, 3], [9, 10]])
        self.near([row[0] for row in lists(result.scores)], [SURE, SURE])
        self.near([rows[0] for rows in lists(result.log_probs.response)], [[SURE, SURE]] * 2)

    def test_ends(self):
        many = llm().generate([[1]], max_new_tokens=10 ** 9, ignore_eos=True)
        self.assertEqual((len(lists(many.tokens.response)[0]), many.finish), (CONTEXT - 1, ["full"]))
        self.assertEqual(lists(llm().generate([[1]], eos_token_id=[3, 4]).tokens.response), [[2, 3]])
        self.assertEqual(lists(llm().generate([[1]], max_tokens=3, suppress_tokens=[3]).tokens.response)[0][0], 2)
        bias = lists(llm().generate([[1]], max_tokens=1, sequence_bias={(5,): 100.0}).tokens.response)
        self.assertEqual(bias, [[5]])
        self.assertEqual(lists(llm().generate([[1]], max_tokens=1, bad_words_ids=[[2], [0]]).tokens.response), [[1]])
        self.assertIn(llm().generate([[1]], max_time=1e-9, ignore_eos=True).finish[0], ("time", "full"))

    def test_arrays(self):
        self.assertEqual(type(llm().generate([[1]]).lengths.full), modc.Array)
        if HAS_NUMPY:
            import numpy
            made = llm(arrays=None, pad_output=True).generate(numpy.array([[1, 2], [3, 4]]))
            self.assertEqual((type(made.tokens.full), made.tokens.full.dtype), (numpy.ndarray, numpy.int64))
            self.assertEqual((made.masks.all_attention_mask.dtype, made.log_probs.response.dtype), (numpy.bool_, numpy.float32))
            self.assertEqual(lists(llm().generate([numpy.array([1, 2]), [3]], max_new_tokens=1).tokens.full), [[1, 2, 3], [3, 4]])
        if HAS_TORCH:
            import torch
            made = llm(arrays=None, pad_output=True).generate(torch.tensor([[1, 2], [3, 4]]))
            self.assertEqual((made.tokens.full.dtype, made.masks.all_attention_mask.dtype), (torch.int64, torch.bool))
            self.assertIsInstance(llm(arrays=None).generate([[1]]).lengths.full, torch.Tensor)

    def test_without_others(self):
        """Neither NumPy nor PyTorch is there."""
        text = ("import sys; sys.modules.update(numpy=None, torch=None); sys.path[:0] = [%r, %r]\n"
                "import test_llm; r = test_llm.modc.LLM(test_llm.NET, input_mode='tokens').generate([[9]])\n"
                "print(r.tokens.response[0].tolist(), type(r.lengths.full).__name__)")
        ran = subprocess.run([sys.executable, "-c", text % (str(ROOT / "python"), str(ROOT / "tests/python"))],
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8", check=False)
        self.assertEqual(ran.stdout, "[10, 11] Array\n")

    def test_threads(self):
        made, found = llm(generate_kwargs={"max_new_tokens": 3}), {}

        def work(i):
            found[i] = [lists(made.generate([[i]]).tokens.response) for _ in range(20)]

        threads = [threading.Thread(target=work, args=(i,)) for i in range(1, 5)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(found, {i: [[[i + 1, i + 2, i + 3]]] * 20 for i in range(1, 5)})

    def test_weights(self):
        """Those that the net has now."""
        net = modc.compile(COUNT, weights=counting(IDS), cflags=FLAGS)
        made = llm(net, generate_kwargs={"max_new_tokens": 1})
        self.assertEqual(lists(made.generate([[1]]).tokens.response), [[2]])
        head = [0.0] * (IDS * IDS)
        head[5 * IDS + 1] = 1.0
        net.load_state_dict({**counting(IDS), "head.weight": floats(head, IDS, IDS)})
        self.assertEqual(lists(made.generate([[1]]).tokens.response), [[5]])

    def test_memory(self):
        net = modc.compile(COUNT, weights=counting(IDS), cflags=FLAGS)
        made = llm(net)
        made.generate([[1]])
        gone = weakref.ref(net._core)
        gc.disable()
        try:
            del made, net
            self.assertIsNone(gone())
        finally:
            gc.enable()


class Sources(Near):
    """A model with an encoder."""

    def test_all(self):
        text = (ROOT / "specs/networks/t5.yaml").read_text(encoding="utf-8")
        net = modc.compile(text, cflags=FLAGS, options=["--set", "layers=1"])
        made = llm(net, generate_kwargs={"max_new_tokens": 4})
        result = made.generate([[5, 6, 7], [8, 9]])
        self.assertEqual(lists(result.tokens.prompt), [[5, 6, 7], [8, 9]])
        again = made.score(lists(result.tokens.response), prompts=[[5, 6, 7], [8, 9]])
        self.near(again.log_probs.full, result.log_probs.response)
        self.assertEqual([event.token for event in made.stream([8, 9])], lists(result.tokens.response)[1])
        self.says(TypeError, "score() of a model with an encoder takes prompts=, what the texts are written from", made.score,
                  [[1]])
        self.says(ValueError, "score(): prompts are nested as (1,), the texts as (2,)", made.score, [[1], [2]], prompts=[[1]])
        self.says(TypeError, "score() takes prompts= for models with an encoder; a text has its prompt in front", llm().score,
                  [[1]], prompts=[[2]])
        responses = lists(result.tokens.response)
        found = [[row[id] - math.log(sum(map(math.exp, row))) for row, id in zip(lists(rows), ids)]
                 for rows, ids in zip(made.logits(responses, prompts=[[5, 6, 7], [8, 9]]), responses)]
        self.near(found, result.log_probs.response)
        self.says(TypeError, "logits() of a model with an encoder takes prompts=, what the texts are written from", made.logits, [[1]])
        self.says(modc.Error, "prompt_logprobs: what an encoder reads has none", made.generate, [[1]], prompt_logprobs=True)


class Texts(Case):
    def test_texts(self):
        made = llm(words(), input_mode="text", generate_kwargs={"max_new_tokens": 3})
        self.assertEqual((made.encode("the of"), made.decode([1, 2])), ([1, 2], "the of"))
        self.assertEqual((made.encode(["the", "a of"]), made.decode([[1], [3, 2]])), ([[1], [3, 2]], ["the", "a of"]))
        result = made.generate(["the of", "of"])
        self.assertEqual(result.text, type(result.text)(["the of", "of"], ["a and is"] * 2, ["the ofa and is", "ofa and is"]))
        self.assertEqual(lists(result.tokens.full), [[1, 2, 3, 4, 5], [2, 3, 4, 5]])
        self.assertEqual(made.generate("is").text.response, "modc in")
        self.assertEqual(made.generate([["the"], ["of"]]).text.response, [["of a and"], ["a and is"]])
        self.assertEqual(made("the").text.full, "theof a and")
        scored = made.get_new_version(generate=False)("the of a")
        self.assertEqual((scored.text.full, lists(scored.tokens.full)), ("the of a", [1, 2, 3]))
        self.assertEqual(made.pad_token_id, 7)

    def test_stops(self):
        made = llm(words(), input_mode="text")
        self.assertEqual(made.generate("the", stop="and").text.response, "of a and")
        self.assertEqual(made.generate("the", stop=["x", "and"], include_stop_str_in_output=False).text.response, "of a ")
        self.assertEqual(made.generate("the", stop_sequences=["a and"]).finish, "stop")
        found = made.generate("the", stop=["x", "and"], num_beams=2)
        self.assertEqual((found.text.response, found.finish), ("of a and", "stop"))
        self.assertEqual(made.generate("the", stop="and", num_beams=2, include_stop_str_in_output=False).text.response, "of a ")

    def test_grammars(self):
        text = reading("ruled").replace("eos: 7}", "eos: 7, grammars: {article: {regex: '(the|x)'}}}")
        made = llm(modc.compile(text, weights=counting(300), cflags=FLAGS), input_mode="text")
        self.assertEqual(lists(made.generate("the of", grammar="article").tokens.response), [1, 7])
        self.says(ValueError, "generate(): grammar cannot be 'verb': the model has article", made.generate, "the", grammar="verb")

    def test_streams(self):
        made = llm(words(), input_mode="text", generate_kwargs={"max_new_tokens": 3})
        stream = made.stream("the")
        self.assertEqual([(event.token, event.text, event.finish) for event in stream],
                         [(2, "of", None), (3, " a", None), (4, " and", "length")])
        self.assertEqual(stream.ids(), [1, 2, 3, 4])
        self.assertEqual([event.token for event in stream.extend("the of")], [3, 4, 5])
        other = stream.fork()
        self.assertEqual([event.token for event in other.extend([5])], [6, 7])
        self.assertEqual(next(stream, None), None)
        self.assertEqual(other.ids(), [1, 2, 3, 4, 1, 2, 3, 4, 5, 5, 6, 7])
        other.close()
        with stream:
            pass
        self.says(modc.Error, "extend(): the stream was closed", stream.extend, [1])
        self.says(modc.Error, "stream(): the stream was closed", lambda: stream.extend and next(made_again(stream)))

    def test_side_by_side(self):
        made = llm(generate_kwargs={"max_new_tokens": 3})
        streams = [made.stream([i]) for i in (1, 4)]
        told = [[next(stream).token for stream in streams] for _ in range(2)]
        self.assertEqual(told, [[2, 5], [3, 6]])
        self.assertEqual(lists(made.score([[1, 2]]).lengths.full), [2])
        self.says(modc.Error, "generate(): a stream of this model is not at its end: read it, or close() it", made.generate, [[1]])
        third = made.stream([2])
        self.says(modc.Error, "stream(): all sequences that the spec holds (3) are taken by streams: close() some, or let "
                  "`generation:` have more `sequences`", made.stream, [3])
        self.assertEqual([event.token for event in third], [3, 4, 5])
        self.assertEqual([next(stream).token for stream in streams], [4, 7])
        self.says(modc.Error, "generate(): all sequences that the spec holds (3) are taken by streams: close() some, or let "
                  "`generation:` have more `sequences`", made.generate, [[1]])
        del third, streams
        self.assertEqual(lists(made.generate([[1], [2], [3], [4]]).tokens.response)[3], [5, 6, 7])
        stream = made.stream([1])
        self.says(ValueError, "extend(): 99 ids have no room in a context of 16, or are none", stream.extend, [1] * 99)
        self.says(IndexError, "extend(): ids are from 0 to 11", stream.extend, [12])
        self.says(ValueError, "stream() takes one prompt; generate() takes several", made.stream, [[1], [2]])
        self.says(ValueError, "stream() has one response, without beams", made.stream, [1], num_beams=2)

    def test_fault(self):
        nothing = floats([float("nan")] * (IDS * IDS), IDS, IDS)
        net = modc.compile(COUNT, weights={**counting(IDS), "head.weight": nothing}, cflags=FLAGS)
        self.assertEqual(llm(net).generate([[1]]).finish, ["fault"])
        with self.assertRaisesRegex(modc.Error, r"stream\(\): no token could be picked: "):
            next(llm(net).stream([1]))


class Queues(Case):
    """What items write is what llm.generate writes of each."""

    @classmethod
    def setUpClass(cls):
        cls.made = llm(arrays="modc")

    def outcome(self, result):
        return lists(result.tokens.response), lists(result.log_probs.response), result.finish, lists(result.lengths.full)

    @unittest.skipUnless(hasattr(os, "fork"), "no processes of the same memory")
    def test_forked(self):
        with modc.Queue(self.made) as queue:
            child = os.fork()
            if child == 0:  # nothing but this: what the parent's threads held is held for ever here
                try:
                    queue.state()
                except modc.Error as error:
                    os._exit(0 if "state(): the queue's worker is in the process that made it" in str(error) else 2)
                finally:
                    os._exit(1)
            self.assertEqual(os.waitpid(child, 0)[1], 0)
            self.assertEqual(int(queue.generate([3], max_new_tokens=2).lengths.response), 2)

    def test_threads(self):
        prompts = [[first, first + 1] for first in range(8)] + [[3], [4, 5, 6]]
        options = [{"max_new_tokens": 3 + i, "temperature": 4.0, "seed": i, "n": 1 + i % 2} for i in range(len(prompts))]
        alone = [self.outcome(self.made.generate(prompt, **given)) for prompt, given in zip(prompts, options)]
        found = [None] * len(prompts)
        with modc.Queue(self.made, max_return_sequences=2) as queue:
            def ask(first):
                for i in range(first, len(prompts), 4):
                    found[i] = self.outcome(queue.generate(prompts[i], **options[i]))
            threads = [threading.Thread(target=ask, args=(first,)) for first in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            futures = [queue.submit(prompt, **given) for prompt, given in zip(prompts, options)]
            self.assertEqual([self.outcome(future.result()) for future in futures], alone)
            self.assertEqual(queue.state()["pending_futures"], 0)
        self.assertEqual(found, alone)
        with modc.Queue(self.made, max_beams=3) as queue:
            given = {"num_beams": 3, "max_new_tokens": 4}
            one, other = queue.generate([1], **given), self.made.generate([1], **given)
            self.assertEqual((self.outcome(one), lists(one.scores)), (self.outcome(other), lists(other.scores)))

    def test_texts(self):
        made = llm(words(), input_mode="text")
        with modc.Queue(made) as queue:
            for given in ({}, {"stop": "and"}, {"stop": ["x", "and"], "include_stop_str_in_output": False}, {"stop": "d"}):
                self.assertEqual(queue.generate("the", **given).text, made.generate("the", **given).text)
            self.assertEqual(list(queue.stream("the", stop="and")), list(made.stream("the", stop="and")))

    def test_asyncio(self):
        async def run(queue):
            results = await asyncio.gather(*(queue.agenerate([first], max_new_tokens=4) for first in range(6)))
            return [self.outcome(result) for result in results], [event.token async for event in queue.stream([1], max_new_tokens=4)]

        with modc.Queue(self.made) as queue:
            found, told = asyncio.run(run(queue))
        self.assertEqual(found, [self.outcome(self.made.generate([first], max_new_tokens=4)) for first in range(6)])
        self.assertEqual(told, [event.token for event in self.made.stream([1], max_new_tokens=4)])

    def test_ends(self):
        with modc.Queue(self.made, min_batch_size=2, batching_timeout=None, max_queue=2) as queue:
            first, second = queue.submit([1]), queue.submit([2], max_new_tokens=2)
            self.assertEqual(self.outcome(second.result()), self.outcome(self.made.generate([2], max_new_tokens=2)))
            first.result()
            waits = queue.submit([1])
            self.assertTrue(waits.cancel())
            while queue.state()["pending_futures"]:
                time.sleep(0.001)
            stream = queue.stream([1])
            stream.close()
            self.assertEqual([event.finish for event in stream], ["user"])
            waits = queue.submit([1])
            queue.flush()
            self.assertEqual(self.outcome(waits.result()), self.outcome(self.made.generate([1])))
            waits = queue.submit([1])
            queue.cancel_all()
            self.assertEqual((waits.result().finish, lists(waits.result().lengths.response)), ("user", 0))
            waits = queue.submit([1])
            queue.close(finish=False)
            self.assertEqual(waits.result().finish, "user")
            self.says(modc.Error, "submit(): the queue was shut down", queue.submit, [1])
            self.says(modc.Error, "state(): the queue was shut down", queue.state)
            queue.close()

    def test_messages(self):
        self.says(ValueError, "modc.Queue: min_batch_size is 0: it takes a number from 1 to 3, max_batch_size", modc.Queue, self.made, min_batch_size=0)
        self.says(ValueError, "modc.Queue: max_queue is 2147483647: it takes a number from 1 to 1048576: min_batch_size items have to find a place",
                  modc.Queue, self.made, max_queue=2 ** 32 + 8)
        with modc.Queue(self.made, min_batch_size=3, batching_timeout=None, max_queue=3, max_tokens=8) as queue:
            for timeout in (-1, float("nan")):
                self.says(ValueError, f"submit(): timeout is {timeout}: it takes seconds from 0, or None", queue.submit, [1], timeout=timeout)
            self.says(ValueError, "submit(): num_beams is 2, and max_beams of the queue is 0", queue.submit, [1], num_beams=2, max_new_tokens=2)
            self.says(ValueError, "submit() takes one prompt; several are several calls", queue.submit, [[1], [2]])
            self.says(ValueError, "stream() has one response", queue.stream, [1], n=2, temperature=1.0)
            self.says(ValueError, "submit(): a queue does not compute the log-probabilities of prompts", queue.submit, [1], prompt_logprobs=1)
            self.says(ValueError, "submit(): top_p cannot be '2': it takes a number from 0 to 1; 1 is off", queue.submit, [1], top_p=2)
            self.says(IndexError, "submit(): a prompt: row 0 has 12 at position 0: ids are from 0 to 11", queue.submit, [12])
            self.says(ValueError, "submit(): the length of prompt and response is 12, and max_tokens of the queue is 8", queue.submit,
                      [1, 2, 3], max_new_tokens=9)
        with modc.Queue(self.made, max_queue=2) as queue:
            gate = threading.Event()
            queue.submit([1]).add_done_callback(lambda _: gate.wait(10))  # results are not fetched so long
            self.assertRaisesRegex(Full, r"submit\(\): as many items wait as the queue holds",
                                   lambda: [queue.submit([1], timeout=0) for _ in range(50)])
            gate.set()
            with mock.patch("os.getpid", return_value=0):
                self.says(modc.Error, "submit(): the queue's worker is in the process that made it", queue.submit, [1])
            stream = queue.stream([1], max_new_tokens=4)
            asyncio.run(stream.__anext__())
            with self.assertRaises(modc.Error) as raised:
                asyncio.run(stream.__anext__())
            self.assertEqual(str(raised.exception), "stream(): it is read in another loop of asyncio")
        nothing = floats([float("nan")] * (IDS * IDS), IDS, IDS)
        net = modc.compile(COUNT, weights={**counting(IDS), "head.weight": nothing}, cflags=FLAGS)
        with modc.Queue(llm(net)) as queue:
            with self.assertRaises(modc.Error):
                queue.generate([1])
            self.assertRaisesRegex(modc.Error, r"stream\(\): no token could be picked: ", next, queue.stream([1]))

    def test_races(self):
        """Who is on the way into C when the queue is closed, who waits for what only the own thread gives, and who gave up meanwhile."""
        queue, gate, told = modc.Queue(self.made), threading.Event(), []
        library, submit = queue._shared.library, queue._shared.library.queue_submit

        def late(*arguments):
            gate.wait(10)
            return submit(*arguments)

        def ask():
            try:
                queue.submit([1])
            except modc.Error as error:
                told.append(str(error))

        with mock.patch.object(library, "queue_submit", late):
            asks, ends = threading.Thread(target=ask), threading.Thread(target=queue.close)
            asks.start()
            while not queue._shared.inside:
                time.sleep(0.001)
            ends.start()
            ends.join(0.1)
            self.assertTrue(ends.is_alive())
            gate.set()
            asks.join()
            ends.join()
        self.assertEqual(told, ["submit(): the queue was shut down"])

        with modc.Queue(self.made, min_batch_size=2, batching_timeout=None, max_queue=2) as queue:
            done = threading.Event()

            def more(_):
                try:
                    for _ in range(50):
                        queue.submit([1])
                except Full:
                    done.set()

            queue.submit([1]).add_done_callback(more)
            queue.submit([1])  # with which both begin
            self.assertTrue(done.wait(10))
        with modc.Queue(self.made) as queue:
            stream = queue.stream([1])
            with queue._shared.left:  # as a collector that runs there
                stream.close()
            stream = queue.stream([1], max_new_tokens=4)
            asyncio.run(stream.__anext__())
            self.says(modc.Error, "stream(): it is read in a loop of asyncio", next, stream)

    def test_given_up(self):
        async def give_up(queue, gate):
            task = asyncio.ensure_future(queue.agenerate([1]))
            await asyncio.sleep(0.01)
            task.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await task
            gate.set()

        with modc.Queue(self.made, min_batch_size=2, batching_timeout=None) as queue:
            gate, submit = threading.Event(), queue.submit
            with mock.patch.object(queue, "submit", lambda *prompt, **given: gate.wait(10) and submit(*prompt, **given)):
                asyncio.run(give_up(queue, gate))
            until = time.monotonic() + 10
            while queue.state()["pending_futures"] and time.monotonic() < until:
                time.sleep(0.001)
            self.assertEqual(queue.state()["pending_futures"], 0)

    def test_left(self):
        """One that nobody has ends, and its worker with it; a stream that nobody has ends its item."""
        queue = modc.Queue(self.made, min_batch_size=2, batching_timeout=None)
        thread, future, stream = queue._shared.thread, queue.submit([1]), queue.stream([1], ignore_eos=True, max_new_tokens=10 ** 6)
        next(stream)
        del stream
        future.result()
        waits = queue.submit([1])
        del queue
        gc.collect()
        thread.join(10)
        self.assertEqual((thread.is_alive(), waits.result().finish), (False, "user"))


TEMPLATE = """{%- for m in messages -%}
{%- if m.role == 'system' -%}{{ raise_exception('no orders') }}{%- endif -%}
{%- if m.role == 'clock' -%}{{ raise_exception('it is ' + strftime_now('%d %b %Y, %H:%M:%S')) }}{%- endif -%}
{{- 'is ' -}}
{%- if m.role == 'assistant' -%}{%- generation -%}{{- m.content -}}{%- endgeneration -%}{%- else -%}{{- m.content -}}{%- endif -%}
{{- ' ' -}}
{%- endfor -%}
{%- if add_generation_prompt -%}{{- 'a' -}}{%- endif -%}
"""


def turn(role, content):
    return {"role": role, "content": content}


class Histories(Case):
    """input_mode="history", by a template that has "is" in front of turns and "a" in front of answers."""

    @classmethod
    def setUpClass(cls):
        with tempfile.TemporaryDirectory() as folder:
            template = Path(folder) / "chat_template.jinja"
            template.write_text(TEMPLATE, encoding="utf-8")
            cls.net = modc.compile(f"{reading('talker')}template: {template}\n",
                                   weights=counting(300), cflags=FLAGS)

    def test_writing(self):
        made = modc.LLM(self.net, arrays="modc")
        self.assertEqual((made.in_keys, made.out_keys), ([("history", "prompt")],
                                                         ["text", "masks", "tokens", "log_probs", "history"]))
        asked = [turn("user", "the of")]
        result = made.generate(asked)
        self.assertEqual(result.text, type(result.text)("is the of a", "and is modc in", "is the of aand is modc in"))
        self.assertEqual((lists(result.tokens.prompt), lists(result.tokens.response)), ([5, 1, 2, 3], [4, 5, 6, 7]))
        answer = [turn("assistant", "and is modc")]
        self.assertEqual(result.history, type(result.history)(asked, answer, asked + answer))
        several = made.generate([asked, [turn("user", "of"), *answer, turn("user", "1")]], max_new_tokens=1)
        self.assertEqual(lists(several.tokens.response), [[4], [4]])
        self.assertEqual([len(turns) for turns in several.history.full], [2, 4])
        self.assertEqual([event.token for event in made.stream(asked, max_new_tokens=2)], [4, 5])
        samples = made.get_new_version(num_samples=2).generate([asked], do_sample=True, max_new_tokens=1)
        self.assertEqual((len(samples.history.response), len(samples.history.response[0])), (1, 2))

    def test_scoring(self):
        made = modc.LLM(self.net, arrays="modc", generate=False, pad_output=True)
        result = made([[turn("user", "the"), turn("assistant", "of a")], [turn("user", "the")]])
        self.assertEqual(lists(result.tokens.full), [[5, 1, 5, 2, 3], [7, 7, 7, 5, 1]])
        self.assertEqual(lists(result.masks.all_assistant_mask), [[False] * 3 + [True] * 2, [False] * 5])
        self.assertEqual((result.history.prompt, len(result.history.full)), (None, 2))
        self.assertIsNone(made([turn("user", "the")]).masks.all_assistant_mask)

    def test_time(self):
        made, then = modc.LLM(self.net, arrays="modc"), time.struct_time((2026, 2, 3, 4, 5, 6, 1, 34, 0))
        with mock.patch("time.localtime", return_value=then):
            self.says(ValueError, "generate(): the template refuses the turns: it is 03 Feb 2026, 04:05:06", made.generate,
                      [turn("clock", "")])

    def test_messages(self):
        made = modc.LLM(self.net, arrays="modc")
        for text, error, given in [
                ("generate(): the template refuses the turns: no orders", ValueError, [turn("system", "the")]),
                ("generate(): a prompt of turns has a str", TypeError, "the"),
                ("generate(): a prompt: a turn has role and content, found ['role']", ValueError, [{"role": "user"}]),
                ("generate(): a prompt: a turn has 'tools'; templates read role, content, name, reasoning_content", ValueError,
                 [{**turn("user", ""), "tools": 1}]),
                ("generate(): a prompt: content of a turn is text, not 3", TypeError, [turn("user", 3)])]:
            with self.subTest(text):
                self.says(error, text, made.generate, given)
        self.says(modc.Error, "words has no 'template:' that makes texts of turns\nhint: input_mode='text' takes texts", modc.LLM,
                  words())


def made_again(stream):
    """The stream as it would be if nobody had closed it."""
    stream._ended = False
    return stream


class Arguments(Case):
    def test_constructor(self):
        for text, error, arguments in [
                ("input_mode is one of 'history', 'text', 'tokens', not 'ids'", ValueError, {"input_mode": "ids"}),
                ("pad_output is True or False, not 1", ValueError, {"pad_output": 1}),
                ("pad_model_input is for generate=False", ValueError, {"pad_model_input": True}),
                ("return_log_probs=False leaves nothing with generate=False", ValueError,
                 {"generate": False, "return_log_probs": False}),
                ("inplace is True, False, 'empty' or None, not 'no'", ValueError, {"inplace": "no"}),
                ("inplace=True has no room for several samples of a prompt; False has", ValueError,
                 {"inplace": True, "num_samples": 2, "generate_kwargs": {"do_sample": True}}),
                ("num_samples is 2, and generate_kwargs asks for 3", ValueError, {"num_samples": 2, "generate_kwargs": {"n": 3}}),
                ("tokenizer_kwargs has 'max_length'; there are return_attention_mask, padding_side, return_tensors, padding, "
                 "add_special_tokens", TypeError, {"tokenizer_kwargs": {"max_length": 3}}),
                ("tokenizer_kwargs: padding_side is always 'left'", RuntimeError, {"tokenizer_kwargs": {"padding_side": "right"}}),
                ("count has no 'tokenizer:' that makes tokens of texts\nhint: input_mode='tokens' takes ids", modc.Error,
                 {"input_mode": "text"}),
                ("count has no 'tokenizer:' that makes tokens of texts\nhint: input_mode='tokens' takes ids", modc.Error,
                 {"input_mode": "history"}),
                ("generate_kwargs asks for logprobs, and return_log_probs is False", ValueError,
                 {"return_log_probs": False, "generate_kwargs": {"logprobs": True}})]:
            with self.subTest(text):
                self.says(error, text, llm, **arguments)
        small = models.compile(SMALL)
        self.says(modc.Error, "small has no 'generation:' by which it could write", llm, small)
        self.says(modc.Error, "encode(): count has no 'tokenizer:'", llm().encode, "a")

    def test_library(self):
        with mock.patch.object(lib, "Event", lib.Prompts):
            self.says(modc.Error, f"{NET.folder}/count.so was compiled with another modc_generation.h", modc.compile, COUNT,
                      cflags=FLAGS)

    def test_options(self):
        for text, error, given in [
                ("temperature is 0.5, and do_sample is False: greedy is temperature 0", ValueError,
                 {"do_sample": False, "temperature": 0.5}),
                ("top_p cannot be '1.5': it takes a number from 0 to 1; 1 is off", ValueError, {"top_p": 1.5}),
                ("repetition_penalty cannot be '0.0': it takes a number over 0; 1 is off", ValueError, {"repetition_penalty": 0.0}),
                ("bad_words_ids takes numbers, texts and lists of them, not <object", TypeError, {"bad_words_ids": object()})]:
            for name, call in (("generate_kwargs", lambda given: llm(generate_kwargs=given)),
                               ("generate()", lambda given: llm().generate([[1]], **given))):
                with self.subTest(text), self.assertRaises(error) as caught:
                    call(given)
                self.assertTrue(str(caught.exception).startswith(f"{name}: {text}"), caught.exception)
        self.says(ValueError, "generate_kwargs: temperature is 0.5, and do_sample is False: greedy is temperature 0", llm,
                  generate_kwargs={"do_sample": False, "temperature": 0.5})
        for given in ({"max_tokens": 3, "max_new_tokens": 3}, {"n": 2, "num_return_sequences": 2, "do_sample": True},
                      {"temperatur": 1}, {"num_return_sequences": 2}, {"temperature": -1.0}, {"top_k": -1}):
            with self.subTest(given), self.assertRaises(ValueError):
                llm(generate_kwargs=given)
        self.assertEqual(lists(llm(generate_kwargs={"do_sample": False, "temperature": 0, "top_k": 0}).generate([[9]])
                               .tokens.response), [[10, 11]])
        replaced = llm(generate_kwargs={"max_new_tokens": 1}).generate([[1]], eos_token_id=4)  # all of generate_kwargs
        self.assertEqual(lists(replaced.tokens.response), [[2, 3, 4]])
        self.says(ValueError, "generate_kwargs: grammar cannot be 'mine': the model has no 'grammars:'", llm,
                  generate_kwargs={"grammar": "mine"})
        self.assertEqual(llm(generate_kwargs={"grammar": "none", "max_new_tokens": 1}).generate([1]).finish, "length")
        self.assertEqual(option_texts("exponential_decay_length_penalty", (5, 1.5)), ["5, 1.5"])
        self.assertEqual(option_texts("sequence_bias", [[[1, 2], -3.5], [[7], 2.0]]), ["1 2: -3.5, 7: 2.0"])
        self.assertEqual(option_texts("early_stopping", "never"), ["never"])
        self.assertEqual([option_texts("stop", 3), option_texts("stop", [3]), option_texts("eos_token_id", [1, "a"])],
                         [["3"], None, None])

    def test_prompts(self):
        made = llm()
        for text, error, given, more in [
                ("generate(): a prompt of ids has a str", TypeError, ["a"], {}),
                ("generate(): a prompt of ids has a float", TypeError, [[1.5]], {}),
                ("generate(): a prompt of ids has a bool", TypeError, [[True]], {}),
                ("generate(): a prompt of ids: there is no element", ValueError, [], {}),
                ("generate(): a prompt of ids: there is no element", ValueError, [[1], []], {}),
                ("generate(): a prompt of ids: its parts are nested differently", ValueError, [[1], [[2]]], {}),
                ("generate(): a prompt: row 1 has 16 tokens, and the model takes 15 at most", ValueError, [[1], [1] * 16], {}),
                ("generate(): a prompt: row 0 has 12 at position 1: ids are from 0 to 11", IndexError, [[1, 12]], {}),
                ("generate(): a prompt: row 0 has 2 ids and a mask of 1", ValueError, [[1, 2]], {"attention_mask": [[1]]}),
                ("generate(): a prompt: row 0 has no element that its mask attends to", ValueError, [[1]],
                 {"attention_mask": [[0]]}),
                ("generate(): a prompt: the mask of row 0 has holes; it may be 0 in front and behind", ValueError, [[1, 2, 3]],
                 {"attention_mask": [[1, 0, 1]]}),
                ("generate(): a prompt: the mask is nested as (1,), the ids as (2,)", ValueError, [[1], [2]],
                 {"attention_mask": [[1]]})]:
            with self.subTest(text):
                self.says(error, text, made.generate, given, **more)
        texts = llm(words(), input_mode="text")
        self.says(TypeError, "generate(): a prompt of texts has a int", texts.generate, [1])
        self.says(ValueError, "generate(): a prompt: row 0 has no token", texts.generate, "")
        self.says(TypeError, "generate() takes attention_mask for ids", texts.generate, "the", attention_mask=[[1]])

    def test_versions(self):
        made = llm(generate_kwargs={"max_new_tokens": 2}, zero_first=True, tokens_key="ids", attention_mask_key="seen")
        other = made.get_new_version(generate=False)
        self.assertEqual((other.in_keys, other.out_keys), ([("tokens", "full")], ["masks", "ids", "log_probs"]))
        self.assertEqual((other.zero_first, other.attention_mask_key, other.generate_kwargs, other.net is made.net),
                         (True, "seen", {"max_new_tokens": 2}, True))
        self.assertEqual(lists(other([[1, 2]]).tokens.full), [[1, 2]])
        self.assertIs(other.generator, made.generator)
        back = other.get_new_version(generate=True)
        self.assertEqual((back.in_keys, lists(back([[1]]).tokens.response)), ([("tokens", "prompt")], [[2, 3]]))
        self.assertEqual(other.get_new_version(pad_model_input=False).get_new_version(generate=True).pad_model_input, True)
        self.assertIn("generate=False", repr(other))
        with self.assertRaisesRegex(TypeError, r"get_new_version\(\) has no argument 'weights'; there are input_mode, generate"):
            made.get_new_version(weights=None)

    def test_what_was_set(self):
        """Versions and copies have what was set since; a version has other resolved defaults where its arguments are others."""
        made = llm(generate_kwargs={"max_new_tokens": 2})
        made.pad_output, made.generate_kwargs["max_new_tokens"] = True, 3
        other = made.get_new_version(generate=False).get_new_version(generate=True)
        self.assertEqual((other.pad_output, other.generate_kwargs), (True, {"max_new_tokens": 3}))
        self.assertEqual((made.inplace, made.get_new_version(num_samples=2).inplace), (True, False))
        for again in (pickle.loads(pickle.dumps(made)), copy.deepcopy(made), copy.copy(made)):
            self.assertEqual(lists(again.generate([[1]]).tokens.response), [[2, 3, 4]])
        self.assertIsNot(copy.deepcopy(made).net, made.net)

    def test_policy(self):
        """What a policy has without PyTorch."""
        made = llm(words(), input_mode="text", input_key=["a", ("b", "c")])
        self.assertEqual((made.in_keys, made.out_keys), ([("a", "b", "c")], ["text", "masks", "tokens", "log_probs"]))
        self.assertIs(made.select_out_keys("tokens", "text"), made)
        self.assertEqual((made.out_keys, len(made.out_keys_source)), (["text", "tokens"], 4))
        self.assertEqual(made.get_new_version(pad_output=True).out_keys, ["text", "tokens"])
        self.says(ValueError, "select_out_keys(): there is no 'masks' in ['text', 'tokens']", made.select_out_keys, "masks")
        self.says(RuntimeError, "select_out_keys(): there is no 'masks' in ['text', 'tokens']", made.select_out_keys, "masks",
                  "text")
        self.assertEqual(made.reset_out_keys().out_keys, made.out_keys_source)
        self.assertEqual((made.is_tdmodule_compatible(made), made.is_tdmodule_compatible(3)), (True, False))
        self.assertIsNone(made.collector)
        collector = Arguments()
        made.register_collector(collector)
        self.assertIs(made.get_new_version().collector, collector)
        del collector
        gc.collect()
        self.assertIsNone(made.collector)
        self.assertEqual((made.log_prob_keys, made.dist_sample_keys), (["log_probs"], ["tokens_response"]))
        self.says(NotImplementedError, "dist_params_keys: there are none", lambda: made.dist_params_keys)
        for name, call in (("get_dist", made.get_dist), ("get_dist_with_prompt_mask", made._get_sft_dist),
                           ("get_dist_with_assistant_mask", made._get_rlhf_dist),
                           ("get_dist_with_attention_mask", made._get_generic_dist)):
            self.says(NotImplementedError, f"{name}() is for generate=False: get_new_version(generate=False) has it", call, None)
        self.says(RuntimeError, "log_prob() is for generate=False: get_new_version(generate=False) has it", made.log_prob, None)
        self.says(ImportError, "forward() needs the package no_such_package", policy.needed, "no_such_package.part", "forward")


if __name__ == "__main__":
    unittest.main()
