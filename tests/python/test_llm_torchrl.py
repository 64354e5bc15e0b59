#!/usr/bin/env python3
"""modc.LLM beside torchrl's TransformersWrapper, on a small random GPT-2 whose weights both have: tokens, masks, log-probabilities
and distributions are equal. It skips without torchrl, tensordict and transformers.

Where the wrapper differs, and the tests say so:
  [first]      its response's first log-probability is 0; zero_first=True is the same
  [behind]     padded, behind the end of a response it has log-probabilities of the pad id, here 0
  [pad is eos] a response that ends with the pad id loses its end there: tokens, masks and log-probabilities
  [assistant]  it leaves all_assistant_mask out where it writes; here it is what was written
  [positions]  rows that are padded on the left are scored at shifted positions; the tests' model mends that
  [front]      the distribution of a row's first token is that behind a pad, where the row is padded; here all are equally likely
  [default]    get_dist() without a mask raises; here the attention mask is meant
  [log_prob]   log_prob() reads an attribute that does not exist
  [kwargs]     options of a call get lost in front of TensorDicts of other ranks than 1
"""
import functools
import sys
import unittest
import warnings

import test_llm
from models import FLAGS, ROOT, Case, modc

try:
    import torch
    from tensordict import TensorDict, lazy_stack
    from tensordict.nn import TensorDictModuleBase, TensorDictSequential
    from tokenizers import Tokenizer, models
    from torchrl.data.llm import History
    from torchrl.modules.llm import TransformersWrapper
    from torchrl.modules.llm.policies.common import ChatHistory
    from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

IDS, PAD = 96, 93
SMALL = [word for setting in (f"vocabulary={IDS}", "dim=32", "heads=4", "layers=2", "context=64", "rows=16")
         for word in ("--set", setting)]
SPEC = (ROOT / "specs/networks/gpt2.yaml").read_text(encoding="utf-8").replace("eos: 50256", "eos: 95")
NEAR = {"rtol": 0, "atol": 1e-4}


class Model(GPT2LMHeadModel):
    """torchrl scores by two arguments without names, of which the second is something else now; [positions]."""

    @functools.wraps(GPT2LMHeadModel.forward)
    def forward(self, *args, **kwargs):
        if len(args) == 2:
            kwargs["attention_mask"] = args[1]
            kwargs["position_ids"] = (args[1].long().cumsum(-1) - 1).clamp(min=0)
        return super().forward(*args[:1], **kwargs)


def make():
    torch.manual_seed(0)
    model = Model(GPT2Config(vocab_size=IDS, n_positions=64, n_embd=32, n_layer=2, n_head=4, eos_token_id=95, bos_token_id=94,
                             pad_token_id=PAD)).eval()
    for parameter in model.parameters():
        parameter.data.mul_(3.0)
    transposed = ("c_attn.weight", "c_proj.weight", "c_fc.weight")
    state = {key.replace("transformer.", ""): value.T.contiguous() if key.endswith(transposed) else value
             for key, value in model.state_dict().items()}
    return model, modc.compile(SPEC, weights=state, options=SMALL, cflags=FLAGS)


def tokenizer(pad):
    words = Tokenizer(models.WordLevel({f"t{i}": i for i in range(IDS)}, unk_token="t0"))
    return PreTrainedTokenizerFast(tokenizer_object=words, eos_token="t95", pad_token=f"t{pad}", unk_token="t0")


MODEL, NET = make()
PROMPTS = [[1, 2, 3], [4, 5, 6, 7], [30, 31]]
OPTIONS = {"max_new_tokens": 8}


def wrapper(pad=PAD, **arguments):
    arguments.setdefault("generate_kwargs", dict(OPTIONS))
    return TransformersWrapper(MODEL, tokenizer=tokenizer(pad), input_mode="tokens", **arguments)


def llm(pad=PAD, eos=95, **arguments):
    own = {"eos_token_id": eos, "pad_token_id": pad, **arguments.pop("generate_kwargs", OPTIONS)}
    return modc.LLM(NET, input_mode="tokens", generate_kwargs=own, **arguments)


def padded():
    """Prompts as torchrl has them: filled up on the left, with a mask."""
    width = max(map(len, PROMPTS))
    ids = torch.tensor([[PAD] * (width - len(row)) + row for row in PROMPTS])
    return TensorDict({"tokens": {"prompt": ids}, "attention_mask": ids != PAD}, [len(PROMPTS)])


def rows(td, *keys):
    return td.get(keys, as_list=True)


class Wrapper(Case):
    def setUp(self):
        warnings.simplefilter("ignore")

    def near(self, found, wanted):
        self.assertEqual(len(found), len(wanted))
        for one, other in zip(found, wanted):
            torch.testing.assert_close(one, other, **NEAR)

    def test_writing(self):
        for pad_output in (False, True):
            theirs = wrapper(pad_output=pad_output, inplace=False)(padded())
            ours = llm(pad_output=pad_output, inplace=False, zero_first=True)(padded())  # [first]
            for keys in [("tokens", "prompt"), ("tokens", "response"), ("tokens", "full"), ("masks", "all_attention_mask"),
                         ("log_probs", "response")]:
                with self.subTest(pad_output=pad_output, keys=keys):
                    self.near(rows(ours, *keys), rows(theirs, *keys))
            for keys in [("log_probs", "prompt"), ("log_probs", "full")]:
                self.assertEqual((theirs.get(keys), ours.get(keys)), (None, None))
            self.assertIsNone(theirs["masks"].all_assistant_mask)  # [assistant]
            self.assertEqual([int(row.sum()) for row in rows(ours, "masks", "all_assistant_mask")], [8, 8, 8])
            self.assertEqual(ours["tokens"].padded, theirs["tokens"].padded)
            self.assertEqual(type(ours["tokens"]), type(theirs["tokens"]))
            self.assertEqual(set(ours.keys()), set(theirs.keys()) - {"text"})

    def ends(self, pad):
        """The token of the first row's response that is to end it, and both results. Ends are where others go on."""
        eos = int(llm().generate([PROMPTS[0]]).tokens.response[0][3])
        config = MODEL.generation_config
        before = config.eos_token_id, config.pad_token_id
        config.eos_token_id, config.pad_token_id = eos, pad if pad is not None else eos
        try:
            theirs = wrapper(pad if pad is not None else eos, inplace=False, pad_output=pad is not None)(padded())
        finally:
            config.eos_token_id, config.pad_token_id = before
        return eos, theirs, llm(pad if pad is not None else eos, eos, inplace=False, pad_output=pad is not None)(padded())

    def test_ends(self):
        eos, theirs, ours = self.ends(PAD)
        self.near(rows(ours, "tokens", "full"), rows(theirs, "tokens", "full"))
        self.near(rows(ours, "masks", "all_attention_mask"), rows(theirs, "masks", "all_attention_mask"))
        length = [int(eos in row) and row.tolist().index(eos) + 1 for row in rows(ours, "tokens", "response")][0]
        one, other = rows(ours, "log_probs", "response")[0], rows(theirs, "log_probs", "response")[0]
        torch.testing.assert_close(one[1:length], other[1:length], **NEAR)
        self.assertEqual((one[length:].abs().max(), bool(other[length:].abs().max() > 0)), (0, True))  # [behind]

    def test_pad_is_eos(self):
        eos, theirs, ours = self.ends(None)  # [pad is eos]
        one, other = rows(ours, "tokens", "response")[0], rows(theirs, "tokens", "response")[0]
        self.assertEqual((one.tolist()[:-1], one.tolist()[-1]), (other.tolist(), eos))

    def test_scoring(self):
        for pad_output in (False, True):
            written = wrapper(pad_output=pad_output, inplace=False)(padded())
            theirs = wrapper(pad_output=pad_output, inplace=False, generate=False)
            ours = llm(pad_output=pad_output, inplace=False, generate=False)
            for keys in [("tokens", "full"), ("masks", "all_attention_mask"), ("log_probs", "full")]:
                with self.subTest(pad_output=pad_output, keys=keys):
                    self.near(rows(ours(written.clone()), *keys), rows(theirs(written.clone()), *keys))

    def test_distributions(self):
        written = wrapper(pad_output=True, inplace=False)(padded())
        theirs, ours = (make(pad_output=True, generate=False) for make in (wrapper, llm))
        mask = written["masks"].all_attention_mask
        ids = written["tokens"].full
        behind = torch.cat([torch.ones(len(ids), 1, dtype=torch.bool), mask[:, 1:] == mask[:, :-1]], 1)  # [front]
        for name, arguments in [("_get_dist_with_attention_mask", {}), ("_get_dist_with_prompt_mask", {}),
                                ("_get_sft_dist", {}), ("_get_generic_dist", {}),
                                ("_get_dist_with_custom_mask", {"mask": mask}),
                                ("get_dist", {"mask_key": ("masks", "all_attention_mask")})]:
            with self.subTest(name):
                if name == "_get_dist_with_prompt_mask" or name == "_get_sft_dist":
                    written["masks"].all_assistant_mask = mask  # which torchrl reads, and has no use for
                one, other = (getattr(made, name)(written.clone(), **arguments) for made in (ours, theirs))
                torch.testing.assert_close(one.log_prob(ids)[behind], other.log_prob(ids)[behind], **NEAR)
                self.assertTrue(torch.equal(one.log_prob(ids) == 0, other.log_prob(ids) == 0))
        with self.assertRaises(ValueError):  # [default]
            theirs.get_dist(written.clone())
        expected = theirs.get_dist(written.clone(), mask_key=("masks", "all_attention_mask")).log_prob(ids)
        torch.testing.assert_close(ours.get_dist(written.clone()).log_prob(ids)[behind], expected[behind], **NEAR)
        with self.assertRaises(AttributeError):  # [log_prob]
            theirs.log_prob(written.clone())
        torch.testing.assert_close(ours.log_prob(written.clone()), rows_of(theirs(written.clone())), **NEAR)

    def test_masked(self):
        """Ragged rows, and what stands for masks that are not there."""
        made = llm(inplace=False)(padded())
        ours = llm(inplace=False, generate=False)
        assistant = ours._get_rlhf_dist(made)
        self.assertEqual(assistant.log_prob(torch.zeros(3, 12, dtype=torch.long)).ne(0).sum(1).tolist(), [8, 8, 8])
        plain = TensorDict({"tokens": {"full": torch.tensor([[1, 2, 3], [4, 5, 6]])}}, [2])
        self.says(ValueError, "get_dist(): there is no mask ('masks', 'all_assistant_mask')", ours._get_sft_dist, plain)
        self.says(ValueError, "get_dist(): there is no mask 'mine'", ours.get_dist, plain, mask_key="mine")
        self.assertEqual(ours.get_dist(plain).log_prob(plain["tokens", "full"]).shape, (2, 3))
        plain["mine"] = torch.ones(2, 4, dtype=torch.bool)
        self.says(ValueError, "get_dist(): row 0 has 3 tokens and a mask of 4", ours.get_dist, plain, mask_key="mine")
        self.says(NotImplementedError, "get_dist(): PyTorch has no categorical distribution of nested tensors", ours.get_dist,
                  plain, as_nested_tensor=True)

    def test_samples(self):
        draws = {"max_new_tokens": 3, "do_sample": True}
        theirs = wrapper(num_samples=2, generate_kwargs=dict(draws))(padded())
        ours = llm(num_samples=2, generate_kwargs=draws)(padded())
        self.assertEqual(ours.batch_size, theirs.batch_size)
        self.assertEqual([row.tolist() for row in rows(ours[0], "tokens", "prompt")], [PROMPTS[0]] * 2)
        self.assertEqual(ours[1, 1]["tokens"].full.tolist()[:4], PROMPTS[1])
        for made in (wrapper(num_samples=2, generate_kwargs=dict(draws)), llm(num_samples=2, generate_kwargs=draws)):
            self.assertIs(made.inplace, False)

    def test_places(self):
        """inplace, tensordict_out, ranks, keys."""
        for inplace in (None, True, False, "empty"):
            for made in (wrapper(inplace=inplace, pad_output=True), llm(inplace=inplace, pad_output=True)):
                given = padded()
                given["more"] = torch.ones(3)
                found = made(given)
                self.assertEqual((found is given, "more" in found.keys()), (inplace in (None, True),) * 2)
                self.assertIn("tokens", found.keys())
        given, out = padded(), TensorDict({"more": torch.ones(3)}, [3])
        self.assertIs(llm(pad_output=True)(given, tensordict_out=out), out)
        self.assertEqual({*out.keys()}, {"more", "tokens", "masks", "log_probs"})
        single = llm(inplace=False)(padded()[1], max_new_tokens=2)  # [kwargs]
        self.assertEqual((single.batch_size, single["tokens"].response.shape), ((), (2,)))
        square = lazy_stack([padded(), padded()])
        both = llm(inplace=False, pad_output=True)(square, max_new_tokens=2)
        self.assertEqual((both.batch_size, both["tokens"].response.shape), ((2, 3), (2, 3, 2)))
        self.says(ValueError, "forward() takes tensordict_out for one dimension, not 2", llm(), square, tensordict_out=out)
        self.says(ValueError, "forward(): the TensorDict has no element", llm(), padded()[:0])
        self.says(TypeError, "forward() with generate=False takes no options of generation, found n", llm(generate=False),
                  TensorDict({"tokens": {"full": torch.ones(1, 2, dtype=torch.long)}}, [1]), n=2)
        self.says(ValueError, "forward(): there is no ('tokens', 'full') for input_mode='tokens', but [\"('tokens', 'prompt')\", "
                  "'attention_mask', 'tokens']", llm(generate=False), padded())
        bare = padded().exclude("attention_mask")
        self.says(ValueError, "forward(): rows of ('tokens', 'prompt') begin or end with the pad id 93, and there is no ('masks', "
                  "'all_attention_mask') or 'attention_mask' that says whether it is a token", llm(), bare)

    def test_in_sequences(self):
        made = llm(pad_output=True, inplace=False)
        self.assertTrue(TensorDictModuleBase.is_tdmodule_compatible(made))
        found = made.select_out_keys("tokens")(padded())
        self.assertEqual({*found.keys()}, {"tokens"})
        made.reset_out_keys()
        run = TensorDictSequential(llm(pad_output=True).as_module())
        self.assertEqual(run.out_keys, ["masks", "tokens", "log_probs"])
        self.near(rows(run(padded()), "tokens", "full"), rows(made(padded()), "tokens", "full"))

    def test_texts(self):
        net = modc.compile(f"{SPEC}tokenizer: {ROOT / 'tests/tokens/words.json'}\n", cflags=FLAGS,
                           options=[*SMALL, "--set", "vocabulary=300"])
        made = modc.LLM(net, input_mode="text", generate_kwargs={"eos_token_id": 299, "max_new_tokens": 2}, inplace=False)
        given = TensorDict({"text": {"prompt": ["the of", "a"]}}, [2])
        found = made(given)
        self.assertEqual(list(found["text"].prompt), ["the of", "a"])
        plain = made.generate(["the of", "a"])
        self.assertEqual((list(found["text"].response), list(found["text"].full)), (plain.text.response, plain.text.full))
        scored = made.get_new_version(generate=False)(found)
        self.assertEqual(len(rows(scored, "log_probs", "full")), 2)
        self.assertEqual(made(given[0])["text"].prompt, "the of")


class Histories(Case):
    def test_all(self):
        """torchrl's turns in and out, of unequal numbers."""
        test_llm.Histories.setUpClass()
        made = modc.LLM(test_llm.Histories.net, inplace=False)
        talks = [History(role=["user"], content=["the of"], batch_size=[1]),
                 History(role=["user", "assistant", "user", "<none>"], content=["of", "a", "1", ""], batch_size=[4])]
        written = made(TensorDict({"history": ChatHistory(prompt=lazy_stack(talks), batch_size=[2])}, [2]))
        self.assertEqual(list(written["text"].response), ["and is modc in"] * 2)
        self.assertEqual(list(written["history"].full[1].content), ["of", "a", "1", "and is modc"])
        self.assertEqual(list(written["history"].response[0].role), ["assistant"])
        self.assertEqual({*written.keys()}, {"history", "text", "tokens", "masks", "log_probs"})
        scored = made.get_new_version(generate=False)(written)
        self.assertEqual([row.tolist() for row in rows(scored, "masks", "all_assistant_mask")],
                         [[False] * 4 + [True] * 3, [False] * 3 + [True] + [False] * 3 + [True] * 3])
        tools = History(role=["user"], content=["the"], tool_calls=[{"a": 1}], batch_size=[1])
        self.says(NotImplementedError, "forward(): templates read no calls of tools", made,
                  TensorDict({"history": ChatHistory(prompt=lazy_stack([tools]), batch_size=[1])}, [1]))


def rows_of(td):
    return td.get(("log_probs", "full"))


if __name__ == "__main__":
    unittest.main()
